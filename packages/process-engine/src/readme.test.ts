import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const folder = dirname(import.meta.dirname);

test('the example of the README prints the output in the README', () => {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const [, example = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  const [, expected = ''] = /^```text\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  const printed = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', example], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  assert.ok(expected !== '');
  assert.equal(printed, expected);
});
