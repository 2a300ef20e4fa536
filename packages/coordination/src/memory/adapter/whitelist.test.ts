import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import type { EventRow } from '../../ledger/journal/event.ts';
import { readEventDeclarations } from '../../testing/app/event-catalog.ts';
import { memoryItemOf } from './memory-item.ts';
import { whitelist } from './whitelist.ts';

/** All types of these families are sent, apart from the documented exceptions. */
const wholeFamilies: readonly { readonly prefix: string; readonly except: readonly string[] }[] = [
  { prefix: 'task.relation_', except: [] },
  {
    prefix: 'approval.',
    except: ['approval.outcome_executed', 'approval.outcome_failed', 'approval.outcome_deferred'],
  },
  { prefix: 'workspace.member_', except: [] },
  { prefix: 'role.', except: [] },
  { prefix: 'capability.', except: [] },
  { prefix: 'delegation.', except: [] },
];

const catalog = new Map((await readEventDeclarations()).map((event) => [event.type, event]));

const shapeOf = ({ payload }: EventDeclaration) =>
  (payload as unknown as { shape: Record<string, z.ZodType> }).shape;

for (const [type, { content, fields }] of Object.entries(whitelist))
  test(`${type} is sent with fields that its payload has`, () => {
    const declared = catalog.get(type);
    assert.ok(declared, 'the event catalogue does not contain this type');
    const shape = shapeOf(declared);
    for (const one of fields) {
      const [, field] = typeof one === 'string' ? [one, one] : one;
      assert.ok(Object.hasOwn(shape, field), `the payload has no ${field}`);
    }
    for (const [, field = ''] of content.matchAll(/\{(\w+)\}/g)) {
      assert.ok(shape[field], `the payload has no ${field}`);
      const isAlwaysThere = ![undefined, null].some((nothing) => shape[field]?.safeParse(nothing).success);
      assert.ok(isAlwaysThere, `the sentence needs ${field}, which may be absent`);
    }
  });

test('families of events are sent completely, with the documented exceptions', () => {
  for (const { prefix, except } of wholeFamilies) {
    const written = [...catalog.keys()].filter((type) => type.startsWith(prefix) && !except.includes(type));
    assert.ok(written.length > 0, prefix);
    for (const type of written) assert.ok(Object.hasOwn(whitelist, type), `${type} is missing`);
    for (const type of except) assert.ok(!Object.hasOwn(whitelist, type), `${type} is sent`);
  }
});

test('no item contains custom fields, configuration, or messages between people', () => {
  for (const { fields } of Object.values(whitelist))
    for (const name of ['customFields', 'config', 'comment', 'body', 'description'])
      assert.ok(!fields.includes(name));
});

const eventRow = (about: Partial<EventRow>): EventRow => ({
  id: newId(),
  sequence: 7,
  position: 700,
  tenant_id: newId(),
  type: 'task.updated',
  schema_version: 1,
  entity_type: 'task',
  entity_id: newId(),
  workspace_id: null,
  actor_id: null,
  iam_actor_id: null,
  session_id: null,
  correlation_id: null,
  causation_id: null,
  request_id: null,
  trace_run_id: 'run_1',
  payload: {},
  occurred_at: '2026-11-22T10:00:00.000Z',
  ...about,
});

test('an item has the documented form', () => {
  const [actorId, workspaceId, goalId] = [newId(), newId(), newId()];
  const event = eventRow({
    type: 'task.created',
    actor_id: actorId,
    workspace_id: workspaceId,
    payload: {
      publicId: 'TASK-7',
      title: 'Fix it',
      status: 'open',
      systemStatusCategory: 'backlog',
      typeKey: 'task',
      typeVersion: 1,
      priority: 'high',
      workspaceId,
      startDate: null,
      dueDate: null,
      customFields: true,
      goalId,
      origin: { kind: 'human' },
      acceptanceChecks: 0,
    },
  });
  assert.deepEqual(memoryItemOf(event), {
    source: { system: 'control-plane', stream: 'domain-events', external_id: `event:${event.id}` },
    kind: 'task.created',
    occurred_at: '2026-11-22T10:00:00.000Z',
    subject: { type: 'task', id: event.entity_id },
    scopes: [
      { type: 'task', id: event.entity_id },
      { type: 'workspace', id: workspaceId },
      { type: 'goal', id: goalId },
      { type: 'principal', id: actorId },
    ],
    content: 'Task TASK-7 was created with priority high and status open: Fix it',
    data: {
      publicId: 'TASK-7',
      title: 'Fix it',
      status: 'open',
      priority: 'high',
      workspaceId,
      goalId,
      origin: { kind: 'human' },
      mappingVersion: 5,
      eventSequence: 7,
      traceRunId: 'run_1',
    },
    provenance: { uri: `control-plane://events/${event.id}` },
    actor: { type: 'principal', id: actorId },
  });
});

test('an observation keeps its own kind, instant, content and assertions', () => {
  const assertions = [{ assert: 'entity', entity: { key: 'service:api', type: 'service' } }];
  const [taskId, runId] = [newId(), newId()];
  const item = memoryItemOf(
    eventRow({
      type: 'observation.recorded',
      entity_type: 'observation',
      payload: {
        kind: 'ci.passed',
        content: 'The tests of {main} pass.',
        observedAt: '2026-01-01T00:00:00.000Z',
        source: 'ci',
        data: { customFields: 'a field of the publisher’s own', mappingVersion: 99 },
        taskId,
        runId,
        assertions,
      },
    }),
  );
  assert.equal(item?.kind, 'ci.passed');
  assert.equal(item?.occurred_at, '2026-01-01T00:00:00.000Z');
  assert.equal(item?.content, 'The tests of {main} pass.');
  assert.deepEqual(item?.assertions, assertions);
  assert.equal(item?.data['mappingVersion'], 5);
  assert.deepEqual(item?.data['data'], {
    customFields: 'a field of the publisher’s own',
    mappingVersion: 99,
  });
  assert.deepEqual(item?.scopes.slice(1), [
    { type: 'task', id: taskId },
    { type: 'run', id: runId },
  ]);
});

test('changes are sent without custom fields, in the sentence and in the data', () => {
  const item = memoryItemOf(
    eventRow({ payload: { publicId: 'TASK-1', version: 2, changes: { title: 'New', customFields: true } } }),
  );
  assert.equal(item?.content, 'Task TASK-1 was changed: title.');
  assert.deepEqual(item?.data['changes'], { title: 'New' });
  assert.doesNotMatch(JSON.stringify(item), /customFields/);
});

test('each subject of an event is listed once, at most 20 in total', () => {
  const id = newId();
  const item = memoryItemOf(
    eventRow({
      type: 'task.relation_removed',
      entity_id: id,
      actor_id: newId(),
      payload: { relationId: newId(), fromTaskId: id, toTaskId: newId(), type: 'blocks' },
    }),
  );
  assert.equal(item?.scopes.length, 3);
  assert.ok((item?.scopes.length ?? 0) <= 20);
});

test("an event that is not on the whitelist is not sent, nor one named like an object's built-in property", () => {
  for (const type of ['task.comment_added', 'session.opened', 'approval.outcome_failed', 'constructor'])
    assert.equal(memoryItemOf(eventRow({ type })), undefined);
});

test('an event whose payload lacks a required field is sent nevertheless', () => {
  const item = memoryItemOf(eventRow({ type: 'run.started', payload: {} }));
  assert.equal(item?.content, 'Attempt unknown at the task was started.');
});
