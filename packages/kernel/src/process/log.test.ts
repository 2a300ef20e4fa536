import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

function logged(error: Error): string {
  let lines = '';
  const log = createLog({ name: 'test', level: 'info', destination: { write: (line) => (lines += line) } });
  log.error({ err: new Error('request failed', { cause: error }) }, 'failed');
  return lines;
}

// PostgreSQL adds parameters to `where` when it can't parse a value, or when log_parameter_max_length_on_error is set.
test("the log has no parameter values from PostgreSQL's error context", () => {
  for (const where of [
    "unnamed portal parameter $2 = 'the-secret'",
    "extended query with parameters: $1 = 'the-secret', $2 = '7'",
    'JSON data, line 1: [{"reason": "the-secret',
    "PL/pgSQL function refuse_change() line 3 at RAISE\nextended query with parameters: $1 = 'the-secret'",
  ])
    assert.ok(
      !logged(Object.assign(new Error('failed'), { code: '23514', where })).includes('the-secret'),
      where,
    );
});

test('the log names the PL/pgSQL function that raised an error', () => {
  const where = 'PL/pgSQL function refuse_change() line 3 at RAISE';
  assert.ok(logged(Object.assign(new Error('failed'), { code: '23001', where })).includes(where));
});
