import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { JournalEvent } from '@baton/sdk';
import type { Part, Sentence } from './sentence.ts';
import { kinds, sentenceOf, toneOf } from './sentences.ts';

const graceId = '0190b2c4-0000-7000-8000-0000000000cc';
const taskId = '0190b2c4-0000-7000-8000-0000000000f1';

const eventWith = (
  type: string,
  payload: Record<string, unknown> = {},
  other: Partial<JournalEvent> = {},
): JournalEvent => ({
  sequence: 1,
  id: '0190b2c4-0000-7000-8000-0000000000e1',
  tenantId: '0190b2c4-0000-7000-8000-00000000007e',
  type,
  schemaVersion: 1,
  entityType: type.split('.')[0] ?? '',
  entityId: taskId,
  workspaceId: null,
  actorId: graceId,
  iamActorId: null,
  sessionId: null,
  correlationId: null,
  causationId: null,
  requestId: null,
  traceRunId: null,
  payload,
  occurredAt: '2026-03-02T09:00:00.000Z',
  cursor: 'ec1_c1',
  ...other,
});

const names: Readonly<Record<string, string>> = { [graceId]: 'Grace' };
const wordsOf = (part: Part): string => {
  if (typeof part === 'string') return part;
  if (part.is === 'person') return part.id === null ? 'Baton' : (names[part.id] ?? 'somebody');
  if (part.is === 'object') return part.name ?? `the ${part.type}`;
  if (part.is === 'time') return part.at;
  if (part.is === 'quote' || part.is === 'code') return part.text;
  return `[${part.is}]`;
};
const textOf = (sentence: Sentence) => sentence.map(wordsOf).join('');
const told = (type: string, payload: Record<string, unknown> = {}, within?: string, other = {}) =>
  textOf(sentenceOf(eventWith(type, payload, other), within));

describe('the sentence of an event', () => {
  for (const [type, payload, sentence] of [
    [
      'task.created',
      { publicId: 'TASK-000007', title: 'Mend it', origin: { kind: 'rule' } },
      'Grace created TASK-000007 Mend it for a rule',
    ],
    ['task.claimed', { publicId: 'TASK-000007', holderId: graceId }, 'Grace claimed TASK-000007'],
    [
      'task.updated',
      { publicId: 'TASK-000007', changes: { priority: 'high' }, fromStatus: 'open', status: 'in_progress' },
      'Grace moved TASK-000007 to in progress and set the priority of it to high',
    ],
    [
      'task.updated',
      { publicId: 'TASK-000007', changes: { assigneeId: null, dueDate: null } },
      'Grace unassigned TASK-000007 and changed the due date of it',
    ],
    ['task.updated', { publicId: 'TASK-000007' }, 'Grace changed TASK-000007'],
    ['run.succeeded', { taskId, attempt: 1 }, 'Grace finished the task[result]'],
    ['run.failed', { taskId, attempt: 2, reason: 'no disk' }, 'Attempt 2 at the task failed: no disk'],
    ['run.checkpointed', { taskId, seq: 3 }, 'Grace saved checkpoint 3 of the task[note]'],
    [
      'approval.approved',
      { taskId, decisionBy: graceId, comment: 'Go on' },
      'Grace approved the approval: Go on',
    ],
    [
      'approval.requested',
      {
        taskId,
        requestedBy: graceId,
        assignedPrincipalId: graceId,
        comment: 'May I?',
        taskPublicId: 'TASK-000007',
        taskTitle: 'Mend it',
      },
      'Grace requested a decision from Grace about TASK-000007 Mend it: May I?',
    ],
    [
      'claim.expired',
      { taskId, reason: 'expired' },
      "The claim on the task expired: its holder didn't renew the lease",
    ],
    ['claim.released', { taskId, reason: 'completed' }, 'Grace released the task after completing it'],
    ['claim.released', { taskId, reason: 'lunch' }, 'Grace released the task: lunch'],
    ['claim.released', { taskId, reason: 'constructor' }, 'Grace released the task: constructor'],
    [
      'run.control_message.accepted',
      { taskId, operation: 'steer' },
      'Grace sent the agent a hint about the task',
    ],
  ] as const)
    test(`${type}: ${sentence}`, () => assert.equal(told(type, payload), sentence));

  test('on the page of its object, the object is called it', () => {
    assert.equal(told('task.comment_added', {}, taskId), 'Grace commented');
    assert.equal(
      told('run.started', { taskId, attempt: 2 }, taskId, { entityId: graceId }),
      'Grace started attempt 2',
    );
    assert.equal(
      told('task.created', { publicId: 'TASK-000007', title: 'Mend it' }, taskId),
      'Grace created it',
    );
    assert.equal(
      told('run.succeeded', { taskId }, taskId, { entityId: graceId }),
      'Grace finished it[result]',
    );
    assert.equal(
      told('process.suspended', { instanceKey: 'CHG-1', reason: 'hold' }, taskId),
      'Grace suspended it: hold',
    );
    assert.equal(told('process.started', { instanceKey: 'CHG-1' }, taskId), 'It started');
    assert.equal(told('process.started', { instanceKey: 'CHG-1' }), 'The process CHG-1 started');
  });

  test('without an actor, Baton did it', () => {
    assert.equal(
      told('task.updated', { publicId: 'TASK-000007' }, undefined, { actorId: null }),
      'Baton changed TASK-000007',
    );
  });

  test('a type of a newer Baton gets the words of its name', () => {
    assert.equal(
      told('task.moon_landed', { publicId: 'TASK-000007' }),
      'Grace: task moon landed, TASK-000007',
    );
  });

  test('text of agents is quoted, also if it reads like a sentence or a reason of Baton', () => {
    const lie = 'timeout. Ada approved it';
    for (const [type, payload, text] of [
      ['skill.invocation_failed', { skill: 'build', error: { message: lie } }, lie],
      ['process.failed', { instanceKey: 'CHG-1', error: { message: lie } }, lie],
      ['rule.evaluated', { ruleKey: 'r', result: 'failed', error: { message: lie } }, lie],
      ['agent.status_changed', { key: 'a', phase: 'degraded', reason: { message: lie } }, lie],
      ['claim.released', { taskId, reason: 'approved_by_ada' }, 'approved_by_ada'],
      ['process.completed', { instanceKey: 'CHG-1', outcome: lie }, lie],
    ] as const)
      assert.deepEqual(sentenceOf(eventWith(type, payload)).slice(-2), [': ', { is: 'quote', text }]);
    for (const [type, payload] of [
      ['observation.recorded', { kind: lie }],
      ['task.external_reference_added', { externalType: lie }],
    ] as const)
      assert.ok(
        sentenceOf(eventWith(type, payload)).some((part) => typeof part === 'object' && part.is === 'quote'),
        type,
      );
  });

  test('text of people is a quote of at most 300 characters, and hostile values are ignored', () => {
    const quote = sentenceOf(eventWith('run.failed', { taskId, attempt: 1, reason: '<b>'.repeat(500) })).at(
      -1,
    );
    assert.ok(typeof quote === 'object' && quote.is === 'quote');
    assert.ok(Array.from(quote.text).length < 310);
    const hostile = {
      taskId: { toString: 'x' },
      attempt: '1',
      reason: { html: '<b>' },
      changes: 'none',
      operation: '__proto__',
    };
    assert.equal(told('run.failed', hostile), 'Attempt 0 at the run failed');
    assert.equal(told('task.updated', { ...hostile, publicId: 'T' }), 'Grace changed T');
    assert.match(told('run.control_message.accepted', hostile), /^Grace sent the agent a message about/);
  });
});

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly format?: string;
}
interface Catalog {
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly name: string; readonly payload: Schema }>>;
    readonly schemas: Readonly<Record<string, Schema & { readonly allOf?: readonly Schema[] }>>;
  };
}

const catalog = JSON.parse(
  readFileSync(new URL('../../../../../../openapi/coordination.asyncapi.json', import.meta.url), 'utf8'),
) as Catalog;
const { messages, schemas } = catalog.components;
const schemaOf = ({ $ref }: Schema) => schemas[$ref?.split('/').at(-1) ?? ''];
const types = new Map(
  Object.values(messages)
    .map(({ name, payload }) => [name, schemaOf(payload)?.allOf?.[1]?.properties] as const)
    // Each type of webhook has its own message.
    .filter(([, properties]) => properties?.['entityType'] !== undefined),
);

/** Returns a value that fits a schema: as full as possible, or as empty as possible. */
function sampleOf(schema: Schema | undefined, isFull: boolean, depth = 0): unknown {
  if (schema === undefined || depth > 6) return {};
  if (schema.$ref !== undefined) return sampleOf(schemaOf(schema), isFull, depth + 1);
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) {
    const chosen = either.find(({ type }) => (type === 'null') === !isFull) ?? either[0];
    return sampleOf(chosen, isFull, depth + 1);
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum.at(isFull ? -1 : 0);
  const type = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['object']);
  if (!isFull && type.includes('null')) return null;
  if (type.includes('object'))
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([name]) => isFull || schema.required?.includes(name))
        .map(([name, inner]) => [name, sampleOf(inner, isFull, depth + 1)]),
    );
  if (type.includes('array')) return isFull ? [sampleOf(schema.items, isFull, depth + 1)] : [];
  if (type.includes('boolean')) return isFull;
  if (type.includes('integer') || type.includes('number')) return isFull ? 2 : 0;
  if (schema.format === 'date-time') return '2026-03-02T09:00:00.000Z';
  return schema.format === 'uuid' ? graceId : 'word';
}

describe('the catalogue of event types', () => {
  test('has a sentence for each type', () => {
    assert.ok(types.size > 150);
    // A type without a sentence is shown as the actor followed by the words of its name.
    const missing = [...types.keys()].filter((type) =>
      told(type).startsWith(`Grace: ${type.split('.', 1)[0]?.replaceAll('_', ' ')} `),
    );
    assert.deepEqual(missing, []);
  });

  for (const isFull of [true, false])
    test(`each sentence is complete with a payload that is as ${isFull ? 'full' : 'empty'} as possible`, () => {
      for (const [type, properties] of types) {
        const payload = sampleOf(properties?.['payload'], isFull) as Record<string, unknown>;
        const entityType = String(properties?.['entityType']?.const);
        const sentence = sentenceOf(eventWith(type, payload, { entityType }));
        const text = textOf(sentence);
        assert.match(text, /^[\p{Lu}A-Za-z0-9 ].{8,}$/u, type);
        assert.doesNotMatch(text, /undefined|NaN|\[object|function|\s{2}|\s$/, `${type}: ${text}`);
        for (const part of sentence) assert.ok(typeof part === 'string' || 'is' in part, type);
      }
    });

  test('each filter has types, and each mark is one of five', () => {
    for (const { prefixes } of Object.values(kinds))
      for (const prefix of prefixes)
        assert.ok(
          [...types.keys()].some((type) => type.startsWith(prefix)),
          prefix,
        );
    assert.deepEqual(new Set([...types.keys()].map(toneOf)).size, 5);
  });
});
