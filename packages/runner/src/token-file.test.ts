import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { TokenFile } from './token-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-token-file-'));
after(() => rmSync(folder, { recursive: true }));

test('a token is renewed in its file until the end, and a service that is away leaves the one before', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const path = join(folder, 'token');
  let next: string | Error = 'first';
  const hidden: string[] = [];
  const file = new TokenFile(
    path,
    async () => {
      if (next instanceof Error) throw next;
      return next;
    },
    (token) => {
      assert.ok(!existsSync(path) || readFileSync(path, 'utf8') !== token, 'hidden before it is written');
      hidden.push(token);
    },
  );
  const afterPause = async (): Promise<string> => {
    t.mock.timers.tick(30_000);
    await turn();
    return readFileSync(path, 'utf8');
  };
  assert.equal(await file.start(), 'first');
  assert.equal(await afterPause(), 'first');
  next = 'second';
  assert.equal(await afterPause(), 'second');
  next = new Error('away');
  assert.equal(await afterPause(), 'second');
  next = 'third';
  assert.equal(await afterPause(), 'third');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  file.stop();
  next = 'fourth';
  assert.equal(await afterPause(), 'third');
  assert.deepEqual(hidden, ['first', 'second', 'third']);
  assert.deepEqual(readdirSync(folder), ['token']);
});
