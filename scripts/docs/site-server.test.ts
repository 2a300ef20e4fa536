import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serveSite } from './site-server.ts';

const parent = mkdtempSync(join(tmpdir(), 'baton-site-server-'));
let site: Awaited<ReturnType<typeof serveSite>>;

before(async () => {
  mkdirSync(join(parent, 'dist/errors'), { recursive: true });
  const files = { 'dist/errors/index.html': 'Errors', 'dist/errors.md': '# Errors', 'dist/404.html': 'None' };
  for (const [file, text] of Object.entries({ ...files, 'private.txt': 'private' }))
    writeFileSync(join(parent, file), text);
  site = await serveSite(join(parent, 'dist'), 0);
});

after(() => {
  site.server.close();
  rmSync(parent, { recursive: true });
});

/** Requests a path unchanged: `fetch` would normalize it. */
function get(path: string, method = 'GET'): Promise<readonly (string | number | undefined)[]> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(site.address);
    const sent = request({ hostname, port, path, method, agent: false }, (response) => {
      const { statusCode, headers } = response;
      response.toArray().then((chunks) => {
        const text = Buffer.concat(chunks as Buffer[]).toString();
        resolve([statusCode, headers.location ?? headers['content-type'] ?? headers.allow, text]);
      }, reject);
    });
    sent.on('error', reject).end();
  });
}

const html = 'text/html; charset=utf-8';

test('a page, its Markdown and a folder without its slash are served to this machine', async () => {
  assert.match(site.address, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  assert.deepEqual(await get('/errors/?q=1'), [200, html, 'Errors']);
  assert.deepEqual(await get('/errors.md'), [200, 'text/markdown; charset=utf-8', '# Errors']);
  assert.deepEqual(await get('/errors'), [301, '/errors/', '']);
});

test('nothing outside of the folder is served, and no path stops the server', async () => {
  for (const path of [
    '/../private.txt',
    '/%2e%2e/private.txt',
    '/..%2fprivate.txt',
    '/dead',
    '/%',
    '/%00',
    '//:',
  ])
    assert.deepEqual(await get(path), [404, html, 'None'], path);
  assert.deepEqual(await get('//errors'), [301, '/errors/', '']);
  assert.deepEqual(await get('/errors/', 'POST'), [405, 'GET, HEAD', '']);
});
