import assert from 'node:assert/strict';
import { createWriteStream, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, test } from 'node:test';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { Header, type HeaderData } from 'tar';
import { StartError } from '../start-error.ts';
import { privateFolder } from '../testing/private-folder.ts';
import {
  type ArchiveFile,
  formatVersion,
  type Manifest,
  packArchive,
  unpackArchive,
  verifyArchive,
} from './archive.ts';

let folder: ReturnType<typeof privateFolder>;
let path: string;
beforeEach(() => {
  folder = privateFolder();
  path = join(folder.path, 'backup');
});
afterEach(() => folder.remove());

const manifest: Manifest = {
  format: 'baton-backup',
  version: formatVersion,
  createdAt: '2026-11-22T00:00:00.000Z',
  dataVersion: 1,
  postgres: 18,
  platform: 'linux-x64',
};

function entry(data: HeaderData, content = ''): Buffer {
  const header = Buffer.alloc(512);
  new Header({ mode: 0o600, size: content.length, mtime: new Date(), ...data }).encode(header);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header, body]);
}

const end = Buffer.alloc(1024);
const page = 'p'.repeat(8192);
const dataDirectory = [
  entry({ path: 'base', type: 'Directory', mode: 0o700 }),
  entry({ path: 'base/1', type: 'Directory', mode: 0o700 }),
  entry({ path: 'base/1/2619', type: 'File' }, page),
  entry({ path: 'PG_VERSION', type: 'File' }, '18\n'),
];

const large = Buffer.alloc(200_001, 'l');
async function* largeFiles(): AsyncGenerator<ArchiveFile> {
  yield { name: 'contents/t/01/one', sizeBytes: large.length, read: () => Readable.from([large]) };
  yield { name: 'contents/t/02/none', sizeBytes: 0, read: () => Readable.from([]) };
}

/** Writes a backup whose data directory has these entries, optionally with a changed manifest. */
async function write(entries: readonly Buffer[], change: Partial<Manifest> = {}): Promise<void> {
  // Passed in chunks of an odd length, as they would arrive from a connection.
  const data = Buffer.concat([...entries, end]);
  const pieces = Array.from({ length: Math.ceil(data.length / 700) }, (_, n) =>
    data.subarray(n * 700, (n + 1) * 700),
  );
  const files = new Map([['secrets/key', Buffer.from('secret')]]);
  const packed = packArchive({ ...manifest, ...change }, files, Readable.from(pieces), largeFiles());
  await pipeline(Readable.from(packed), createGzip(), createWriteStream(path));
}

async function withFile<T>(work: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

const verify = () => withFile((file) => verifyArchive(file, path));
const unpack = (to: string) =>
  withFile((file) => unpackArchive(file, path, to, new AbortController().signal));

const sentence = (pattern: RegExp) => (error: Error) => {
  assert.ok(error instanceof StartError, error.stack);
  assert.match(error.message, pattern);
  assert.match(error.message, /^[^\n]+\.$/);
  return true;
};

test('an archive is packed and unpacked, with its manifest first and its checksum last', async () => {
  await write(dataDirectory);
  assert.deepEqual(await verify(), manifest);
  const to = join(folder.path, 'to');
  await mkdir(to);
  await unpack(to);
  assert.equal(readFileSync(join(to, 'base/1/2619'), 'utf8'), page);
  assert.equal(readFileSync(join(to, 'baton/secrets/key'), 'utf8'), 'secret');
  assert.deepEqual(readFileSync(join(to, 'baton/contents/t/01/one')), large);
  assert.equal(readFileSync(join(to, 'baton/contents/t/02/none'), 'utf8'), '');
  assert.deepEqual(readdirSync(to).sort(), ['PG_VERSION', 'base', 'baton']);
});

test("the server's configuration isn't unpacked, and nothing is open to others or runs as its owner", async () => {
  const configuration = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf'];
  await write([
    entry({ path: 'base', type: 'Directory', mode: 0o777 }),
    entry({ path: 'base/1', type: 'Directory', mode: 0o777 }),
    entry({ path: 'base/1/2', type: 'File', mode: 0o4777 }, 'x'),
    ...configuration.map((name) => entry({ path: name, type: 'File' }, "restore_command = 'x'")),
  ]);
  const to = join(folder.path, 'to');
  await mkdir(to);
  await unpack(to);
  assert.deepEqual(readdirSync(to).sort(), ['base', 'baton']);
  const modes = ['base', 'base/1', 'base/1/2'].map((name) => statSync(join(to, name)).mode & 0o7777);
  assert.deepEqual(modes, [0o700, 0o700, 0o600]);
});

test("a manifest whose values can't be compared, or move a terminal's cursor, is refused", async () => {
  const changes: Record<string, unknown>[] = [
    { createdAt: '\u001b]52;c;cm0K\u0007' },
    { createdAt: '2026-11-22T00:00:00.000Z\n' },
    { platform: 'linux-x64\u001b[2J' },
    { dataVersion: '1' },
    { postgres: null },
  ];
  for (const change of changes) {
    await write(dataDirectory, change);
    await assert.rejects(verify(), /is not a backup written by "baton backup"/, JSON.stringify(change));
  }
});

test('a backup that is cut off at any place is refused', async () => {
  await write(dataDirectory);
  const whole = readFileSync(path);
  for (const length of [1, 9, 40, whole.length >> 1, whole.length - 9, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, length));
    await assert.rejects(verify(), sentence(/damaged or incomplete/), `${length} of ${whole.length} bytes`);
  }
  // Truncated before compression, so gzip reports no error.
  const unpacked = gunzipSync(whole);
  for (const less of [512, 2048, 4096]) {
    writeFileSync(path, gzipSync(unpacked.subarray(0, unpacked.length - less)));
    await assert.rejects(verify(), sentence(/damaged or incomplete/), `without the last ${less} bytes`);
  }
});

test('a backup in which one byte was changed is refused', async () => {
  await write(dataDirectory);
  const unpacked = gunzipSync(readFileSync(path));
  for (const at of [700, 3000, unpacked.length - 1600]) {
    const changed = Buffer.from(unpacked);
    changed.writeUInt8((changed[at] as number) ^ 1, at);
    writeFileSync(path, gzipSync(changed));
    await assert.rejects(verify(), sentence(/damaged or incomplete|not a backup/), `byte ${at}`);
  }
});

test('a file that is no backup is refused', async () => {
  const foreign = {
    empty: Buffer.alloc(0),
    text: Buffer.from('no backup\n'.repeat(10_000)),
    'another gzip': gzipSync(Buffer.alloc(100_000)),
    'another tar': gzipSync(Buffer.concat([...dataDirectory, end])),
    'an entry of our name': gzipSync(
      Buffer.concat([entry({ path: 'baton/backup.json', type: 'File' }, '[]'), ...dataDirectory, end]),
    ),
  };
  for (const [name, content] of Object.entries(foreign)) {
    writeFileSync(path, content);
    await assert.rejects(verify(), sentence(/not a backup|damaged or incomplete/), name);
  }
});

test('a backup of a newer Baton is refused', async () => {
  await write(dataDirectory, { version: formatVersion + 1 });
  await assert.rejects(verify(), sentence(/newer version of Baton/));
});

const hostile: Record<string, Buffer> = {
  'a name above the folder': entry({ path: '../outside', type: 'File' }, 'x'),
  'a name that goes up in the middle': entry({ path: 'base/../../outside', type: 'File' }, 'x'),
  'an absolute name': entry({ path: '/tmp/baton-outside', type: 'File' }, 'x'),
  'a symbolic link': entry({ path: 'base/link', type: 'SymbolicLink', linkpath: '/etc' }),
  'a hard link': entry({ path: 'base/link', type: 'Link', linkpath: '/etc/hostname' }),
  'a device': entry({ path: 'base/device', type: 'CharacterDevice' }),
  'a request to recover by a command': entry({ path: 'recovery.signal', type: 'File' }),
  'the same below a folder of the own name': entry({ path: './recovery.signal', type: 'File' }),
  'a request to be a standby': entry({ path: 'standby.signal', type: 'File' }),
  'a map of tablespaces': entry({ path: 'tablespace_map', type: 'File' }, '1 /etc'),
  'a tablespace': entry({ path: 'pg_tblspc/1', type: 'Directory' }),
  'the process id of a server': entry({ path: 'postmaster.pid', type: 'File' }, '1'),
  'a library': entry({ path: 'base/5/evil.so', type: 'File' }, 'x'),
  'an unknown file of the own folder': entry({ path: 'baton/restore.json', type: 'File' }, '{}'),
};

for (const [name, bytes] of Object.entries(hostile))
  test(`${name} is refused, although the checksum is right`, async () => {
    await write([...dataDirectory, bytes]);
    await verify();
    const to = join(folder.path, 'to');
    await mkdir(to);
    await assert.rejects(unpack(to), sentence(/was not written by Baton: it contains the unexpected entry /));
    assert.ok(!existsSync(join(folder.path, 'outside')) && !existsSync('/tmp/baton-outside'));
    assert.ok(!existsSync(join(to, 'base/link')));
  });
