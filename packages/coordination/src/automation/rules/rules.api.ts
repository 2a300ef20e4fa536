import { z } from 'zod';
import { QueryWord, Uuid } from '@baton/kernel/wire';
import { idParams } from '../../organisation/keys.ts';
import { PackageFilter } from '../../organisation/package-link.ts';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { RuleWarning } from '../rule-documents/warnings.ts';
import { Rule, RuleChange, RulePage, RuleRequest, RuleVersionPage, WrittenRule } from './rule.ts';
import { archiveRule, disableRule, enableRule, updateRule } from './rule-changes.ts';
import { documentErrors, referenceErrors } from './rule-refusals.ts';
import { ruleArchived, ruleCreated, ruleDisabled, ruleEnabled, ruleUpdated } from './rules.events.ts';
import { createRule, getRule, listRules, listRuleVersions, validateRule } from './rules.ts';

const ruleExample = {
  key: 'review-what-is-done',
  description: 'Every finished change gets a review.',
  trigger: { kind: 'event', type: 'task.completed' },
  condition: { eq: [{ var: 'task.priority' }, 'high'] },
  action: {
    kind: 'ensure_work',
    taskType: 'task',
    dedupKeyTemplate: 'review-{{ task.publicId }}',
    fields: {
      title: 'Review {{ task.title }}',
      priority: '{{ task.priority }}',
      relations: { spawnedBy: '{{ task.id }}' },
    },
  },
};

export const rulesApi = [
  endpoint({
    id: 'createRule',
    method: 'POST',
    path: '/rules',
    summary: 'Make a work rule.',
    description:
      'An enabled rule acts on what happens from now on, with the rights of whoever enabled it or wrote it last, and never with more than they have at that time. `warnings` names what of it can never work.',
    permission: 'rules.write',
    body: RuleRequest,
    returns: { 201: WrittenRule },
    etag: 'rule',
    errors: [
      ...documentErrors,
      'invalid_status',
      'not_found',
      'workspace_archived',
      ...referenceErrors,
      'invalid_rule',
      'rule_key_taken',
    ],
    emits: [ruleCreated],
    example: ruleExample,
    handle: ({ body }, context) => createRule(context, body),
  }),
  endpoint({
    id: 'validateRule',
    method: 'POST',
    path: '/rules:validate',
    summary: 'Check a work rule without making it.',
    permission: 'rules.write',
    // Nothing changes, so there is no answer to keep.
    idempotency: 'ignored',
    transaction: 'none',
    body: RuleRequest,
    returns: { 200: z.strictObject({ warnings: z.array(RuleWarning) }).meta({ id: 'RuleValidation' }) },
    errors: [...documentErrors, 'invalid_status', 'not_found', 'workspace_archived', ...referenceErrors],
    example: ruleExample,
    handle: ({ body }, context) => validateRule(context, body),
  }),
  endpoint({
    id: 'listRules',
    method: 'GET',
    path: '/rules',
    summary: 'List work rules, newest first.',
    description: 'Without `status`, archived ones are left out.',
    permission: 'rules.read',
    query: {
      status: QueryWord.optional(),
      workspaceId: Uuid.optional(),
      key: QueryWord.optional(),
      triggerKind: QueryWord.optional(),
      package: PackageFilter,
    },
    paging: true,
    returns: { 200: RulePage },
    errors: ['invalid_status', 'invalid_rule_trigger', 'invalid_cursor'],
    handle: ({ query, page }, context) => listRules(context, query, page),
  }),
  endpoint({
    id: 'getRule',
    method: 'GET',
    path: '/rules/{id}',
    summary: 'Read a work rule.',
    permission: 'rules.read',
    params: idParams,
    returns: { 200: Rule },
    etag: 'rule',
    errors: ['not_found'],
    handle: ({ params }, context) => getRule(context, params.id),
  }),
  endpoint({
    id: 'listRuleVersions',
    method: 'GET',
    path: '/rules/{id}/versions',
    summary: 'List the versions of a work rule, newest first.',
    permission: 'rules.read',
    params: idParams,
    paging: true,
    returns: { 200: RuleVersionPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listRuleVersions(context, params.id, page),
  }),
  endpoint({
    id: 'updateRule',
    method: 'PATCH',
    path: '/rules/{id}',
    summary: 'Write the next version of a work rule.',
    description:
      'Values that are stored already change nothing. An enabled rule acts in the name of its last writer. Evaluations that wait end as skipped.',
    permission: 'rules.write',
    ifMatch: 'rule',
    etag: 'rule',
    params: idParams,
    body: RuleChange,
    returns: { 200: WrittenRule },
    errors: [
      'invalid_field',
      'not_found',
      'rule_archived',
      'version_conflict',
      'empty_update',
      ...documentErrors,
      ...referenceErrors,
    ],
    emits: [ruleUpdated],
    example: { description: 'Every finished change of high priority gets a review.' },
    precheck: ({ body }) => refuseNulls(body, ['condition', 'interpretation', 'goalId', 'identity']),
    handle: ({ params, ifMatch, body }, context) => updateRule(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'enableRule',
    method: 'POST',
    path: '/rules/{id}:enable',
    summary: 'Let a work rule act, with the rights of the caller.',
    permission: 'rules.write',
    params: idParams,
    returns: { 200: Rule },
    etag: 'rule',
    errors: ['not_found', 'rule_archived', 'invalid_rule'],
    emits: [ruleEnabled],
    handle: ({ params }, context) => enableRule(context, params.id),
  }),
  endpoint({
    id: 'disableRule',
    method: 'POST',
    path: '/rules/{id}:disable',
    summary: 'Stop a work rule.',
    permission: 'rules.write',
    params: idParams,
    returns: { 200: Rule },
    etag: 'rule',
    errors: ['not_found', 'rule_archived'],
    emits: [ruleDisabled],
    handle: ({ params }, context) => disableRule(context, params.id),
  }),
  endpoint({
    id: 'archiveRule',
    method: 'DELETE',
    path: '/rules/{id}',
    summary: 'Archive a work rule; its key becomes free.',
    permission: 'rules.write',
    params: idParams,
    returns: { 204: null },
    errors: ['not_found'],
    emits: [ruleArchived],
    handle: ({ params }, context) => archiveRule(context, params.id),
  }),
];
