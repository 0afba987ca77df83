// An uploaded document: the body itself, or the field `file` of a form.
//
//   U1. Nothing is written anywhere: a form is read in memory, whole, under the body limit of its route.
//   U2. The file's name is only shown in messages. One that would mean a place (a path, a device, a control character) is
//       refused all the same, because it may be used as a path later.

import { BadRequest, UPLOAD_YAML_BYTES_MAX } from "@tessera/protocol";

export interface Upload {
  readonly bytes: Uint8Array;
  readonly file?: string;
}

/** Room for boundaries and part headers around the largest document. */
const FORM_BYTES_EXTRA = 16 * 1024;
export const UPLOAD_BODY_BYTES_MAX = UPLOAD_YAML_BYTES_MAX + FORM_BYTES_EXTRA;
export const YAML_TYPES: readonly string[] = ["application/yaml", "application/x-yaml", "text/yaml"];
export const FORM_TYPE = "multipart/form-data";

const FIELD = "file";
const FILE_NAME_CHARS_MAX = 128;

export async function readForm(body: Uint8Array, contentType: string): Promise<Upload> {
  const form = await new Response(body as Uint8Array<ArrayBuffer>, { headers: { "content-type": contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new BadRequest("the form cannot be read", { cause });
    });
  const [entry, ...more] = [...form.entries()];
  if (entry === undefined || entry[0] !== FIELD || more.length > 0) {
    throw new BadRequest(`the form must have exactly one field, ${FIELD}`, { details: { field: FIELD } });
  }
  const [, value] = entry;
  if (typeof value === "string") return { bytes: new TextEncoder().encode(value) };
  return { bytes: await value.bytes(), file: checkFileName(value.name) };
}

/** U2 */
function checkFileName(name: string): string {
  const isPlain = !/[\p{Cc}/\\:]/u.test(name) && name.length <= FILE_NAME_CHARS_MAX && name.isWellFormed();
  if (!isPlain || name === "" || /^\.+$/.test(name)) {
    throw new BadRequest("the name of the uploaded file must be a plain file name", { details: { field: "filename" } });
  }
  return name;
}
