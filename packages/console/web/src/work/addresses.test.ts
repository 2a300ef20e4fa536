import '../testing/dom.ts';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { itemOf } from '../testing/service.ts';

const { workSearch } = await import('./work-search.ts');
const { isId, journalSearch, passes, prefixesIn } = await import('../journal/journal-search.ts');
const { processesSearch } = await import('../processes/processes-search.ts');
const { administrationSearch } = await import('../administration/administration-search.ts');
const { localPath } = await import('../shell/local-path.ts');

const id = '0190b2c4-0000-7000-8000-0000000000ad';

describe('the URL of the work page', () => {
  test('keeps the input', () => {
    const known = {
      q: 'report',
      view: 'board',
      category: 'blocked',
      priority: 'high',
      assignee: 'me',
      workspace: id,
      archived: true,
      create: true,
    };
    assert.deepEqual(workSearch(known), known);
  });

  test('drops unknown parameters', () => {
    const unknown = {
      q: 7,
      view: 'list',
      category: 'toString',
      priority: 'urgent',
      assignee: 'grace',
      workspace: 'x',
      archived: 'true',
      create: 'yes',
      other: 1,
    };
    assert.deepEqual(workSearch(unknown), {});
  });

  test('contains up to 200 letters of a search, and no empty one', () => {
    assert.equal(workSearch({ q: 'a'.repeat(300) }).q?.length, 200);
    assert.deepEqual(workSearch({ q: '' }), {});
  });
});

describe('the address of the journal', () => {
  test('keeps types, object, actor and the event of an object', () => {
    const known = { types: 'task.', object: id, actor: id, at: 'ec1_abc' };
    assert.deepEqual(journalSearch(known), known);
  });

  test('drops an invalid id, and an event without its object', () => {
    assert.deepEqual(journalSearch({ object: 'TASK-1', actor: 'me', at: 'ec1_abc', types: '' }), {});
    assert.deepEqual(journalSearch({ object: id, at: 'zc1_abc' }), { object: id });
  });

  test('accepts an id in lower and in upper case, without anything around it', () => {
    assert.ok(isId(id) && isId(id.toUpperCase()));
    assert.ok(!isId(`${id}\n`) && !isId(`x${id}`) && !isId(''));
  });

  test('contains at most twenty type prefixes, without blanks', () => {
    assert.deepEqual(prefixesIn(' task. ,, run.failed '), ['task.', 'run.failed']);
    assert.equal(prefixesIn(Array.from({ length: 30 }, (_, n) => `t${n}`).join()).length, 20);
    assert.deepEqual(prefixesIn(undefined), []);
  });

  test('filters a live event as the service would', () => {
    const event = itemOf('events.list', { type: 'task.created', entityId: id, actorId: null });
    assert.ok(passes({}, event));
    assert.ok(passes({ types: 'run., task.', object: id }, event));
    assert.ok(!passes({ types: 'run.' }, event));
    assert.ok(!passes({ object: id.replace('ad', 'ae') }, event));
    assert.ok(!passes({ actor: id }, event));
  });
});

describe('the addresses of other pages', () => {
  test('processes are filtered by an existing status', () => {
    assert.deepEqual(processesSearch({ status: 'suspended' }), { status: 'suspended' });
    assert.deepEqual(processesSearch({ status: 'constructor' }), {});
  });

  test('the administration accepts existing sections only', () => {
    assert.deepEqual(administrationSearch({ section: 'audit' }), { section: 'audit' });
    assert.deepEqual(administrationSearch({ section: 'toString' }), {});
    assert.deepEqual(administrationSearch({ section: 1 }), {});
  });

  test('the sign-in redirects to a path of the console', () => {
    assert.equal(localPath('/journal?types=task.'), '/journal?types=task.');
    assert.equal(localPath(null), '/');
  });

  for (const next of [
    '//evil.example/x',
    '/.//evil.example/x',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
  ])
    test(`the sign-in does not lead to ${next}`, () => assert.equal(localPath(next), '/'));
});
