import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

function logged(error: Error): string {
  let lines = '';
  const log = createLog({ name: 'test', level: 'info', destination: { write: (line) => (lines += line) } });
  log.error({ err: new Error('request failed', { cause: error }) }, 'failed');
  return lines;
}

// PostgreSQL adds them there when it can't read a value, or when log_parameter_max_length_on_error is set.
test('what PostgreSQL tells about the place of an error is logged without the values that were sent', () => {
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

test('the function that raised an error is named', () => {
  const where = 'PL/pgSQL function refuse_change() line 3 at RAISE';
  assert.ok(logged(Object.assign(new Error('failed'), { code: '23001', where })).includes(where));
});
