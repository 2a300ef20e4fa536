import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, describeLong } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import { startCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { download, freshBytes, sha256Of, storeArtifact, upload } from '../../testing/results/contents.ts';
import { type S3Server, startSwift, swiftMissing } from '../../testing/results/swift.ts';
import { type ContentStore, ContentStoreFailed } from '../content-store.ts';
import { openContentStore } from './open-store.ts';
import { createS3Client } from './s3-request.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-stores-'));
after(() => rmSync(folder, { recursive: true }));

const storeOf = (env: Record<string, string>) =>
  openContentStore(readCoordinationSettings({ CP_ARTIFACT_FOLDER: folder, ...env })) as ContentStore;

async function* chunksOf(bytes: Buffer, count = 3): AsyncGenerator<Buffer> {
  const length = Math.ceil(bytes.length / count);
  // Yields copies, because a store may reuse the memory of the bytes that it has received.
  for (let at = 0; at < bytes.length; at += length) yield Buffer.from(bytes.subarray(at, at + length));
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray());
}

const nameOf = () => ({ tenantId: newId(), id: newId() });

/** Tests for every store. */
function storeTests(get: () => ContentStore): void {
  test('written objects can be read repeatedly', async () => {
    for (const size of [0, 1, 300_000, 8_000_000]) {
      const [name, bytes] = [nameOf(), freshBytes(size)];
      assert.deepEqual(await get().write(name, chunksOf(bytes)), {
        sizeBytes: size,
        sha256: sha256Of(bytes),
      });
      for (let n = 0; n < 2; n += 1) assert.deepEqual(await bytesOf(await get().open(name, size)), bytes);
    }
  });

  test('a missing object, and one of another size, are a failure of the store', async () => {
    const name = nameOf();
    await assert.rejects(get().open(name, 5), ContentStoreFailed);
    await get().write(name, chunksOf(freshBytes(5)));
    await assert.rejects(get().open(name, 4), ContentStoreFailed);
    await assert.rejects(get().open({ ...name, tenantId: newId() }, 5), ContentStoreFailed);
  });

  test('a removed object is missing; removing it again succeeds', async () => {
    const name = nameOf();
    await get().write(name, chunksOf(freshBytes(5)));
    for (let n = 0; n < 2; n += 1) await get().remove(name);
    await assert.rejects(get().open(name, 5), ContentStoreFailed);
  });

  test('an interrupted upload creates no object', async () => {
    const name = nameOf();
    const broken = (async function* () {
      yield freshBytes(100);
      throw new Error('gone');
    })();
    await assert.rejects(get().write(name, broken), /gone/);
    await assert.rejects(get().open(name, 100), ContentStoreFailed);
    await get().remove(name);
  });

  test('twenty objects are written and read at once', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const [name, bytes] = [nameOf(), freshBytes(200_000)];
        await get().write(name, chunksOf(bytes));
        assert.deepEqual(await bytesOf(await get().open(name, bytes.length)), bytes);
      }),
    );
  });

  test('it can be reached', () => get().probe());
}

describe('a folder', () => {
  storeTests(() => storeOf({}));
});

describeLong("Debian's OpenStack Swift by its S3 interface", { skip: swiftMissing() ?? false }, () => {
  let swift: S3Server;
  let store: ContentStore;
  before(async () => {
    swift = await startSwift(async (env) => {
      const client = createS3Client(readCoordinationSettings(env));
      // 409: an earlier attempt has already created the bucket.
      (await client.send({ method: 'PUT', expected: [200, 409] })).resume();
      client.close();
      // The object server may start after the container server, so a write is tried as well.
      const probing = storeOf(env);
      await probing.write(nameOf(), chunksOf(freshBytes(1))).finally(() => probing.close());
    });
    store = storeOf(swift.env);
  });
  after(async () => {
    store?.close();
    await swift?.close();
  });

  storeTests(() => store);

  test('an invalid secret and a missing bucket are failures whose message has no secret', async () => {
    for (const [wrong, code] of [
      [{ CP_S3_SECRET_ACCESS_KEY: 'wrong-secret-of-the-tests' }, '403 SignatureDoesNotMatch'],
      [{ CP_S3_BUCKET: 'absent' }, '404 NoSuchBucket'],
    ] as const) {
      const other = storeOf({ ...swift.env, ...wrong });
      await assert.rejects(other.write(nameOf(), chunksOf(freshBytes(5))), ({ message }: Error) => {
        assert.ok(message.includes(code), message);
        assert.ok(!message.includes('of-the-tests'), message);
        return true;
      });
      await assert.rejects(other.probe(), ContentStoreFailed);
      other.close();
    }
  });

  test('the service uploads, reads and purges in the S3 store, and keeps no files in the folder', async () => {
    const baton = await startCoordination(swift.env);
    try {
      const bytes = freshBytes(3_000_000);
      const artifact = await storeArtifact(baton, bytes, { mediaType: 'image/png' });
      assert.deepEqual((await download(baton, baton.admin, artifact.id)).bytes, bytes);
      await baton.pool.run(sql`delete from artifact_uploads`);
      const [stored] = await baton.pool.rows<{ id: string }>(sql`select id from artifact_contents`);
      const name = { tenantId: baton.tenantId, id: stored?.id ?? '' };
      (await store.open(name, bytes.length)).destroy();
      await done(baton.admin.post(`/artifacts/${artifact.id}:purge-content`, { reason: 'x' }));
      await assert.rejects(store.open(name, bytes.length), ContentStoreFailed);
      const gone = await baton.another({ CP_S3_BUCKET: 'absent' });
      await refused(upload(gone, baton.admin, bytes), 503, 'content_store_unavailable');
    } finally {
      await baton.close();
    }
    assert.deepEqual(
      readdirSync(folder).filter((file) => file.endsWith('.upload')),
      [],
    );
  });
});

describe('an S3 store that does not respond', () => {
  let server: Server;
  let hold: 'head' | 'body';
  before(async () => {
    server = createServer((req, res) => {
      req.resume();
      if (hold === 'body') res.writeHead(200, { 'content-length': '5' }).write('x');
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const silent = () =>
    storeOf({
      CP_S3_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      CP_S3_ACCESS_KEY_ID: 'key',
      CP_S3_SECRET_ACCESS_KEY: 'secret-of-the-tests',
      CP_S3_READ_TIMEOUT_SECONDS: '1',
    });

  test('times out after CP_S3_READ_TIMEOUT_SECONDS of silence, before and during a response', async () => {
    hold = 'head';
    const store = silent();
    const acts = [
      () => store.probe(),
      () => store.remove(nameOf()),
      () => store.open(nameOf(), 5),
      () => store.write(nameOf(), chunksOf(freshBytes(5))),
    ];
    await Promise.all(
      acts.map(async (act) => {
        const beganAt = performance.now();
        await assert.rejects(act(), ContentStoreFailed);
        assert.ok(performance.now() - beganAt > 900);
        assertTookLess(beganAt, 5000);
      }),
    );
    hold = 'body';
    await assert.rejects(bytesOf(await store.open(nameOf(), 5)));
    store.close();
  });

  test('and one that is not there at once', async () => {
    const store = storeOf({
      CP_S3_ENDPOINT_URL: 'http://127.0.0.1:1',
      CP_S3_ACCESS_KEY_ID: 'key',
      CP_S3_SECRET_ACCESS_KEY: 'secret-of-the-tests',
    });
    await assert.rejects(store.probe(), ContentStoreFailed);
    store.close();
  });
});

test('settings that would fail later prevent the start', () => {
  const whole = {
    CP_S3_ENDPOINT_URL: 'https://s3.example',
    CP_S3_ACCESS_KEY_ID: 'key',
    CP_S3_SECRET_ACCESS_KEY: 'secret-of-the-tests',
  };
  readCoordinationSettings(whole);
  for (const [wrong, told] of [
    [{ CP_S3_ENDPOINT_URL: 's3.example' }, /CP_S3_ENDPOINT_URL/],
    [{ CP_S3_ENDPOINT_URL: 'ftp://s3.example' }, /CP_S3_ENDPOINT_URL/],
    [{ CP_S3_ENDPOINT_URL: 'https://user@s3.example' }, /CP_S3_ENDPOINT_URL/],
    [{ CP_S3_BUCKET: 'a/b' }, /CP_S3_BUCKET/],
    [{ CP_S3_ACCESS_KEY_ID: '' }, /CP_S3_ACCESS_KEY_ID/],
    [{ CP_S3_SECRET_ACCESS_KEY: '' }, /CP_S3_SECRET_ACCESS_KEY/],
  ] as const)
    assert.throws(() => readCoordinationSettings({ ...whole, ...wrong }), told);
});
