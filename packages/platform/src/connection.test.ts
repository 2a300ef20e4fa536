import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { parseConnection, shellExports } from './connection.ts';

test('the shell exports have every field, and no value is run as a command', () => {
  const hostile = `it's "$HOME" \`id\` \\ $(id); x\nline`;
  const exports = shellExports({ publicUrl: hostile, adminToken: 'iam_pat_1' });
  const script = `${exports}printf '%s|%s' "$BATON_PUBLIC_URL" "$BATON_ADMIN_TOKEN"`;
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  assert.equal(stderr, '');
  assert.equal(stdout, `${hostile}|iam_pat_1`);
  assert.equal(exports.match(/^export BATON_[A-Z_]+='/gm)?.length, 11);
});

test('a damaged connection file is refused with one sentence, and nothing is exported', () => {
  for (const text of ['', '{x', 'null', '[1]', '{"publicUrl":"http://x"}'])
    assert.throws(() => parseConnection(text, 'c.json'), {
      message: /^c\.json is damaged\. Run /,
    });
  assert.deepEqual(parseConnection('{"adminToken":"t"}', 'c.json'), { adminToken: 't' });
});
