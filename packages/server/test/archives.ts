// For tests: archives of one entry, as small as their readers would take them.

const TAR_BLOCK = 512;

/** An entry of that name; `mode` goes where Unix modes are kept, so that 0o120777 is a symbolic link to /etc/passwd. */
export function zipOf(name: string, mode: number): Buffer {
  const body = Buffer.from("/etc/passwd");
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(20, 4);
  local.writeUInt32LE(body.length, 18);
  local.writeUInt32LE(body.length, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  central.writeUInt16LE(0x0314, 4);
  central.writeUInt32LE(body.length, 20);
  central.writeUInt32LE(body.length, 24);
  central.writeUInt16LE(name.length, 28);
  central.writeUInt32LE((mode << 16) >>> 0, 38);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(46 + name.length, 12);
  end.writeUInt32LE(30 + name.length + body.length, 16);
  return Buffer.concat([local, Buffer.from(name), body, central, Buffer.from(name), end]);
}

/** An entry of that name; of type "2" it is a symbolic link to /etc/passwd. */
export function tarOf(name: string, type: "0" | "2"): Buffer {
  const head = Buffer.alloc(TAR_BLOCK);
  head.write(name, 0);
  head.write("0000777\0", 100);
  head.write("00000000000\0", 124);
  head.write(type, 156);
  head.write("/etc/passwd", 157);
  head.write("ustar\0", 257);
  return Buffer.concat([head, Buffer.alloc(2 * TAR_BLOCK)]);
}
