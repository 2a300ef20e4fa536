import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

const blockBytes = 512;
/**
 * The time of every file, 2020-01-01, so that the bytes depend on the contents only. npm sets its own time when it
 * unpacks the files.
 */
const modifiedAt = new Date(Date.UTC(2020, 0, 1));

/**
 * A package as npm installs it: every file below `package/`, in the order of their names, with the same bytes each
 * time.
 * @param files contents by path; those in `bin/` may be run
 */
export function tarball(files: ReadonlyMap<string, string | Buffer>): Buffer {
  const blocks: Buffer[] = [];
  for (const [path, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const bytes = Buffer.from(content);
    const header = new Header({
      path: `package/${path}`,
      mode: path.startsWith('bin/') ? 0o755 : 0o644,
      size: bytes.length,
      mtime: modifiedAt,
      type: 'File',
      uid: 0,
      gid: 0,
    });
    const block = Buffer.alloc(blockBytes);
    // `encode` returns true if the path doesn't fit. No path of a package is that long, and a longer one must not be
    // truncated.
    if (header.encode(block, 0)) throw new Error(`${path} is too long for a tar archive`);
    blocks.push(block, bytes, Buffer.alloc((blockBytes - (bytes.length % blockBytes)) % blockBytes));
  }
  blocks.push(Buffer.alloc(2 * blockBytes));
  const zipped = gzipSync(Buffer.concat(blocks), { level: 9 });
  // zlib writes the operating system of the packer here. 255 means "unknown", so that the system is not disclosed.
  zipped[9] = 255;
  return zipped;
}
