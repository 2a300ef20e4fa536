import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Refusal } from '@baton/kernel/http/refusal';
import { newId } from '@baton/values/ids';
import { parseAcceptance } from './acceptance.ts';
import { parseEvidence } from './evidence.ts';
import { parseOrigin, summarizeOrigin } from './origin.ts';

const id = newId();
const secret = `the token: ${'abcd1234'.repeat(4)}`;

function codeOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('acceptance checks', () => {
  const check = (more: object) => () =>
    parseAcceptance([{ key: 'a', kind: 'human', description: 'd', ...more }], ['t']);
  const rows: [string, object, string][] = [
    ['the least', {}, 'accepted'],
    ['null instead of a spec', { spec: null }, 'accepted'],
    ['a deterministic check without a spec', { kind: 'deterministic' }, 'invalid_acceptance_spec'],
    ['an approver', { spec: { approver: id } }, 'accepted'],
    ['a role', { spec: { approverRole: id } }, 'accepted'],
    ['both', { spec: { approver: id, approverRole: id } }, 'invalid_acceptance_spec'],
    ['an event', { kind: 'external_state', spec: { event: 'ci.passed' } }, 'accepted'],
    ['a rubric', { kind: 'llm_judge', spec: { rubric: 'be brief', approver: id } }, 'accepted'],
    ['a rubric for a human', { spec: { rubric: 'be brief' } }, 'invalid_acceptance_spec'],
    [
      'a rubric that is too long',
      { kind: 'llm_judge', spec: { rubric: 'r'.repeat(2001) } },
      'invalid_acceptance_spec',
    ],
    ['an unknown deterministic spec', { kind: 'deterministic', spec: {} }, 'invalid_acceptance_spec'],
    [
      'inputs from outside the task',
      { kind: 'deterministic', spec: { skill: 'lint@1', inputs: { of: '$.spawnedBy.title' } } },
      'invalid_acceptance_spec',
    ],
    [
      'an artifact, its media types and its content',
      {
        kind: 'deterministic',
        spec: { artifact: { type: 'log', mediaTypes: ['text/*'], content: 'optional' } },
      },
      'accepted',
    ],
    [
      'an invalid media type',
      { kind: 'deterministic', spec: { artifact: { type: 'log', mediaTypes: ['text'] } } },
      'invalid_acceptance_spec',
    ],
    [
      'an artifact and a skill',
      { kind: 'deterministic', spec: { artifact: { type: 'log' }, skill: 'lint@1' } },
      'invalid_acceptance_spec',
    ],
    ['an unpinned skill', { kind: 'deterministic', spec: { skill: 'lint' } }, 'invalid_acceptance_spec'],
    ['a spec that is not an object', { spec: 'text' }, 'invalid_acceptance'],
    ['a spec over 16 KiB', { spec: { approver: 'x'.repeat(17_000) } }, 'payload_too_large'],
    ['a spec with a secret', { spec: { password: 'x' } }, 'secret_material_rejected'],
    ['a key in capitals', { key: 'Built' }, 'invalid_acceptance'],
    ['a key of 64 characters', { key: 'k'.repeat(64) }, 'invalid_acceptance'],
    ['a reserved key', { key: 'output.log' }, 'invalid_acceptance'],
    ["a key of one of the type's own checks", { key: 't' }, 'invalid_acceptance'],
    ['an unknown kind', { kind: 'oracle' }, 'invalid_acceptance'],
    ['an empty description', { description: '' }, 'invalid_acceptance'],
    ['a description over 2000', { description: 'd'.repeat(2001) }, 'invalid_acceptance'],
    ['a description with a secret', { description: secret }, 'secret_material_rejected'],
    ['conditions', { when: ['$.task.priority', '$.task.customFields.kind'] }, 'accepted'],
    ['no condition', { when: [] }, 'invalid_acceptance'],
    ['nine conditions', { when: Array.from({ length: 9 }, () => '$.task.title') }, 'invalid_acceptance'],
    ['a condition that is not a path', { when: ['always'] }, 'invalid_acceptance'],
    ['a condition with text around it', { when: ['is $.task.priority'] }, 'invalid_acceptance'],
    ['a condition on an unknown field', { when: ['$.task.mood'] }, 'invalid_acceptance'],
    ['a condition on the origin of the task', { when: ['$.spawnedBy.customFields.risk'] }, 'accepted'],
    ['a condition on an approval', { when: ['$.approval.comment'] }, 'invalid_acceptance'],
    [
      'a condition over 500',
      { when: [`$.task.artifact[${'x'.repeat(490)}].metadata.a`] },
      'invalid_acceptance',
    ],
    ['an unknown member', { extra: 1 }, 'invalid_acceptance'],
  ];
  for (const [name, more, code] of rows)
    test(`${name}: ${code}`, () => assert.equal(codeOf(check(more)), code));

  test('a check that is not an object: invalid_acceptance', () => {
    for (const item of [null, 'text', 1, []])
      assert.equal(
        codeOf(() => parseAcceptance([item], [])),
        'invalid_acceptance',
      );
  });
});

describe('evidence', () => {
  const fact = { kind: 'external', externalRef: { system: 's', id: '1' } };
  const rows: [string, unknown[], string][] = [
    [
      'every kind of fact',
      [
        { kind: 'observation', observationId: id },
        { kind: 'artifact', artifactId: id },
        { kind: 'context_pack', contextPackId: id },
        fact,
      ],
      'accepted',
    ],
    ['the same fact for two checks', [{ ...fact, check: 'a' }, { ...fact, check: 'b' }, fact], 'accepted'],
    [
      'the same fact twice for one check',
      [
        { ...fact, check: 'a' },
        { ...fact, check: 'a', note: 'n' },
      ],
      'duplicate_evidence',
    ],
    ['an id of another kind', [{ kind: 'observation', artifactId: id }], 'invalid_evidence'],
    ['a second id', [{ kind: 'observation', observationId: id, artifactId: id }], 'invalid_evidence'],
    ['no id', [{ kind: 'artifact' }], 'invalid_evidence'],
    ['a malformed id', [{ kind: 'artifact', artifactId: 'x' }], 'invalid_evidence'],
    ['a note over 1000', [{ ...fact, note: 'n'.repeat(1001) }], 'invalid_evidence'],
    ['a note with a secret', [{ ...fact, note: secret }], 'secret_material_rejected'],
    [
      'an address with a secret',
      [
        {
          kind: 'external',
          externalRef: { system: 's', id: '1', url: `https://x/?${secret.replaceAll(' ', '')}` },
        },
      ],
      'secret_material_rejected',
    ],
    [
      'a system over 128',
      [{ kind: 'external', externalRef: { system: 's'.repeat(129), id: '1' } }],
      'invalid_evidence',
    ],
    [
      'an id over 512',
      [{ kind: 'external', externalRef: { system: 's', id: 'i'.repeat(513) } }],
      'invalid_evidence',
    ],
    [
      'an address over 2048',
      [{ kind: 'external', externalRef: { system: 's', id: '1', url: 'u'.repeat(2049) } }],
      'invalid_evidence',
    ],
    ['evidence that is not an object', ['text'], 'invalid_evidence'],
  ];
  for (const [name, items, code] of rows)
    test(`${name}: ${code}`, () =>
      assert.equal(
        codeOf(() => parseEvidence(items)),
        code,
      ));
});

describe('origins', () => {
  const fact = { kind: 'external', externalRef: { system: 's', id: '1' } };
  const rows: [string, unknown, string][] = [
    ['a kind alone', { kind: 'human' }, 'accepted'],
    ['an unneeded reference', { kind: 'harness', ref: 'session 7' }, 'accepted'],
    ['process without a reference', { kind: 'process' }, 'invalid_origin'],
    ['parent without a reference', { kind: 'parent' }, 'invalid_origin'],
    ['external without a reference', { kind: 'external', ref: null }, 'invalid_origin'],
    ['a rule with evidence', { kind: 'rule', ruleId: 'nightly/1', evidence: [fact] }, 'accepted'],
    ['a rule without evidence', { kind: 'rule', ruleId: 'nightly/1' }, 'invalid_origin'],
    ['a rule without its id', { kind: 'rule', evidence: [fact] }, 'invalid_origin'],
    ['a rule id for another kind', { kind: 'human', ruleId: 'nightly/1' }, 'invalid_origin'],
    ['a malformed rule id', { kind: 'rule', ruleId: ' x', evidence: [fact] }, 'invalid_origin'],
    ['a reference over 512', { kind: 'external', ref: 'r'.repeat(513) }, 'invalid_origin'],
    ['a reference with a secret', { kind: 'external', ref: secret }, 'secret_material_rejected'],
    ['evidence of a check', { kind: 'human', evidence: [{ ...fact, check: 'a' }] }, 'invalid_origin'],
    ['evidence twice', { kind: 'human', evidence: [fact, fact] }, 'duplicate_evidence'],
    [
      'evidence over 50',
      { kind: 'human', evidence: Array.from({ length: 51 }, () => fact) },
      'invalid_origin',
    ],
    ['an unknown kind', { kind: 'oracle' }, 'invalid_origin'],
    ['an origin that is not an object', 'human', 'invalid_origin'],
  ];
  for (const [name, origin, code] of rows)
    test(`${name}: ${code}`, () =>
      assert.equal(
        codeOf(() => parseOrigin(origin)),
        code,
      ));

  test('a summary counts the evidence and omits addresses', () => {
    const origin = parseOrigin({ kind: 'external', ref: 'HTTPS://tracker.example/1', evidence: [fact] });
    assert.deepEqual(summarizeOrigin(origin), { kind: 'external', evidence: 1 });
    assert.deepEqual(summarizeOrigin(parseOrigin({ kind: 'process', ref: 'p-1' })), {
      kind: 'process',
      ref: 'p-1',
      evidence: 0,
    });
  });
});
