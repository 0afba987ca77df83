/** A plain file name, or an error that tells the model what to send. */
export function requireFileName(value: unknown): string {
  if (typeof value === 'string' && /^[\w-]+(\.[\w-]+)*$/.test(value)) return value;
  throw Object.assign(new Error(`${JSON.stringify(value)} is not a plain file name`), {
    code: 'E_FILE_NAME',
    suggestion: 'Send a name such as report.json, without a directory.',
  });
}
