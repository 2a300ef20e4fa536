import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startProbed } from '@baton/kernel/testing/liveness/liveness-process';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { upload } from '../../testing/results/contents.ts';

const mebibyte = 1024 * 1024;
const sizeBytes = 100 * mebibyte;
const growthBytesMax = 64 * mebibyte;

let baton: TestCoordination;
let service: Awaited<ReturnType<typeof startProbed>>;
before(async () => {
  baton = await startCoordination();
  service = await startProbed({
    main: join(import.meta.dirname, '../../app/main.ts'),
    portSetting: 'CP_PORT',
    readyPath: '/health/ready',
    env: baton.env,
  });
});
after(async () => {
  await service.stop();
  await baton.close();
});

const chunk = Buffer.alloc(65_536, 'x');

function bodyOf(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes / chunk.length;
  return new ReadableStream({
    pull(controller) {
      if (left === 0) return controller.close();
      left -= 1;
      controller.enqueue(chunk);
    },
  });
}

async function digestOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of body) hash.update(part);
  return hash.digest('hex');
}

async function upAndDown(bytes: number): Promise<void> {
  const { contentRef, sha256 } = await done(upload(service, baton.admin, bodyOf(bytes)), 201);
  const { id } = await done(baton.admin.post('/artifacts', { type: 'log', name: 'Large', contentRef }), 201);
  const response = await fetch(`${service.url}/api/v1/artifacts/${id}/content`, {
    headers: { authorization: `Bearer ${baton.admin.token}` },
  });
  assert.equal(await digestOf(response.body as unknown as AsyncIterable<Uint8Array>), sha256);
}

test('transfers of 100 MiB grow the process by less than 64 MiB, and block the event loop for less than 0.25 s', async () => {
  await upAndDown(8 * mebibyte);
  const { rssBytes: startBytes } = await service.measure();
  await upAndDown(sizeBytes);
  const { rssMaxBytes, blockedMs } = await service.measure();
  const growthBytes = rssMaxBytes - startBytes;

  assert.ok(growthBytes < growthBytesMax, `${Math.round(growthBytes / mebibyte)} MiB`);
  assert.ok(blockedMs < 250, `${blockedMs} ms`);
});
