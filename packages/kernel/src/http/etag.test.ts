import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { entityTag, namesTag, parseIfMatch } from './etag.ts';
import { Refusal } from './refusal.ts';

const codeOf = (header: string | undefined) => {
  try {
    return parseIfMatch('task', header);
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return error.code;
  }
};

test('a tag is read back in its quoted, bare and weak form', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999_999_999_999 }), (version) => {
      const tag = entityTag('task', version);
      for (const form of [tag, tag.replaceAll('"', ''), `W/${tag}`, ` ${tag} `])
        assert.equal(codeOf(form), version);
    }),
  );
});

test('a missing or blank header has another code than a malformed one', () => {
  for (const header of [undefined, '', '  ']) assert.equal(codeOf(header), 'if_match_required');
  for (const header of [
    '*',
    '3',
    '"3"',
    'tasks-3',
    'task-',
    'task--3',
    'task-3.0',
    'task-0x3',
    'task-٣',
    '"task-3", "task-4"',
    '"task-3',
    'task-1e3',
    `task-${'9'.repeat(16)}`,
    'TASK-3',
    'run-3',
  ])
    assert.equal(codeOf(header), 'invalid_if_match', header);
});

test('the refusal repeats at most 200 characters of the header', () => {
  assert.throws(
    () => parseIfMatch('task', 'x'.repeat(5000)),
    (error: Refusal) => String(error.details['ifMatch']).length === 200,
  );
});

test('If-None-Match names a tag alone, in a list, weakly or by a star', () => {
  const tag = '"types-1"';
  for (const header of [tag, `W/${tag}`, `"other", ${tag}`, `"other",W/${tag}`, '*', ['"other"', tag]])
    assert.equal(namesTag(header, tag), true, String(header));
  for (const header of [undefined, '', '"types-10"', 'types-1', '"other"'])
    assert.equal(namesTag(header, tag), false, String(header));
  assert.equal(namesTag('"1"', 'W/"1"'), true);
});
