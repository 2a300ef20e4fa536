import { z } from 'zod';
import { endpoint } from '../context.ts';
import {
  NewWorkloadRule,
  providerParams,
  ruleParams,
  WorkloadRule,
  WorkloadRuleChange,
} from './workload-rule.ts';
import {
  workloadRuleCreated,
  workloadRuleDeleted,
  workloadRuleDisabled,
  workloadRuleEnabled,
  workloadRuleUpdated,
} from './workload-rules.events.ts';
import {
  createWorkloadRule,
  deleteWorkloadRule,
  getWorkloadRule,
  listWorkloadRules,
  setWorkloadRuleStatus,
  updateWorkloadRule,
} from './workload-rules.ts';

const rulesPath = '/tenants/{tenantId}/identity-providers/{key}/workload-rules';
const rulePath = `${rulesPath}/{ruleKey}` as const;

export const create = endpoint({
  id: 'createWorkloadRule',
  method: 'POST',
  path: rulesPath,
  summary: 'Let tokens of a provider act as a principal, based on their claims.',
  description:
    'The provider must be one of workloads (`principalKind` `workload` or `none`). Tokens are exchanged at `POST /oauth2/token` with the grant of RFC 7523. For an issuer that strangers share, such as that of GitHub Actions, a condition must specify an owner.',
  params: providerParams,
  body: NewWorkloadRule,
  returns: { 201: WorkloadRule },
  errors: [
    'identity_provider_not_found',
    'workload_provider_required',
    'principal_not_found',
    'workload_principal_required',
    'unknown_audience',
    'invalid_scope_ceiling',
    'too_many_workload_rules',
    'workload_rule_exists',
  ],
  emits: [workloadRuleCreated],
  example: {
    key: 'release',
    principalId: '0b1e6a5c-9d7f-4a53-8a0e-5d6f0c1b2a3e',
    claims: { repository_id: { equals: '123456' }, ref: { equals: 'refs/heads/main' } },
    audiences: ['control-plane'],
    scopeCeiling: ['control-plane:read'],
  },
  handle: ({ params, body }, context) => createWorkloadRule(context, params.tenantId, params.key, body),
});

export const list = endpoint({
  id: 'listWorkloadRules',
  method: 'GET',
  path: rulesPath,
  summary: 'List the workload rules of an identity provider by key; at most 100.',
  params: providerParams,
  returns: { 200: z.array(WorkloadRule) },
  errors: ['identity_provider_not_found'],
  handle: ({ params }, { db }) => listWorkloadRules(db, params.tenantId, params.key),
});

export const get = endpoint({
  id: 'getWorkloadRule',
  method: 'GET',
  path: rulePath,
  summary: 'Read a workload rule.',
  params: ruleParams,
  returns: { 200: WorkloadRule },
  errors: ['workload_rule_not_found'],
  handle: ({ params }, { db }) => getWorkloadRule(db, params),
});

export const update = endpoint({
  id: 'updateWorkloadRule',
  method: 'PATCH',
  path: rulePath,
  summary: 'Change a workload rule, from the next exchange on; equal values change nothing.',
  params: ruleParams,
  body: WorkloadRuleChange,
  returns: { 200: WorkloadRule },
  errors: [
    'workload_rule_not_found',
    'principal_not_found',
    'workload_principal_required',
    'unknown_audience',
    'invalid_scope_ceiling',
  ],
  emits: [workloadRuleUpdated],
  example: { singleUse: true, lifetimeSecondsMax: 3600 },
  handle: ({ params, body }, context) => updateWorkloadRule(context, params, body),
});

export const disable = endpoint({
  id: 'disableWorkloadRule',
  method: 'POST',
  path: `${rulePath}:disable`,
  summary: 'Disable a workload rule, and revoke its access tokens until it is enabled again.',
  params: ruleParams,
  returns: { 200: WorkloadRule },
  errors: ['workload_rule_not_found'],
  emits: [workloadRuleDisabled],
  handle: ({ params }, context) => setWorkloadRuleStatus(context, params, 'disabled'),
});

export const enable = endpoint({
  id: 'enableWorkloadRule',
  method: 'POST',
  path: `${rulePath}:enable`,
  summary: 'Enable a workload rule.',
  params: ruleParams,
  returns: { 200: WorkloadRule },
  errors: ['workload_rule_not_found'],
  emits: [workloadRuleEnabled],
  handle: ({ params }, context) => setWorkloadRuleStatus(context, params, 'active'),
});

export const remove = endpoint({
  id: 'deleteWorkloadRule',
  method: 'DELETE',
  path: rulePath,
  summary: 'Delete a workload rule, and revoke its access tokens.',
  params: ruleParams,
  returns: { 204: null },
  errors: ['workload_rule_not_found'],
  emits: [workloadRuleDeleted],
  handle: ({ params }, context) => deleteWorkloadRule(context, params),
});

export const workloadRulesApi = [create, list, get, update, disable, enable, remove];
