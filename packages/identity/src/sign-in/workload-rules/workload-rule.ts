import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Key, NameSet, names, Status, tenantParam } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';
import { ClaimCondition, ClaimConditions } from './claim-condition.ts';

/** The maximum number of rules per provider: a token is compared with all of them. */
export const rulesOfProviderMax = 100;

const daySeconds = 86_400;

export const WorkloadRule = z
  .strictObject({
    id: Uuid.describe('The `credential_id` of its access tokens.'),
    key: z.string(),
    identityProvider: z.string().describe('The key of the provider.'),
    principalId: Uuid,
    claims: z.record(z.string(), ClaimCondition),
    audiences: z.array(z.string()),
    scopeCeiling: z.array(z.string()),
    singleUse: z.boolean(),
    lifetimeSecondsMax: z.int(),
    status: Status,
    createdAt: Timestamp,
    lastUsedAt: Timestamp.nullable().describe(
      'When it last gave an access token, to within `IAM_PAT_LAST_USED_INTERVAL_SECONDS`.',
    ),
  })
  .meta({ id: 'WorkloadRule' });
export type WorkloadRule = z.infer<typeof WorkloadRule>;

/** The fields that are set when a rule is created and can be changed later. */
const choices = {
  principalId: Uuid.describe('The agent, workload or service account that matching tokens act as.'),
  claims: ClaimConditions.describe(
    'What a token must claim, by the name of the claim or by a JSON Pointer into the token, for instance `{"repository_id": {"equals": "123456"}, "ref": {"equals": "refs/heads/main"}}`. All conditions must be met.',
  ),
  audiences: names(1).pipe(NameSet).describe('The audiences that a token can be exchanged for.'),
  scopeCeiling: NameSet.describe('The scopes that an access token can have.'),
  singleUse: z.boolean().describe('Each token is accepted once, by its `jti`, which it must have.'),
  lifetimeSecondsMax: z
    .int()
    .min(60)
    .max(daySeconds)
    .describe('The longest lifetime (`exp` minus `iat`) of an accepted token.'),
};

const hasCondition = (claims: object) => Object.keys(claims).length > 0;
const noCondition = 'must have a condition: otherwise every token of the provider would match';

export const NewWorkloadRule = z
  .strictObject({
    key: Key,
    ...choices,
    claims: choices.claims.refine(hasCondition, noCondition),
    scopeCeiling: choices.scopeCeiling.default([]),
    singleUse: choices.singleUse.default(false),
    lifetimeSecondsMax: choices.lifetimeSecondsMax.default(daySeconds),
  })
  .meta({ id: 'NewWorkloadRule' });
export type NewWorkloadRule = z.infer<typeof NewWorkloadRule>;

export const WorkloadRuleChange = z
  .strictObject({ ...choices, claims: choices.claims.refine(hasCondition, noCondition) })
  .partial()
  .meta({ id: 'WorkloadRuleChange' });
export type WorkloadRuleChange = z.infer<typeof WorkloadRuleChange>;

export type RuleRow = RowOf<Tables['workload_rules'], { claims: ClaimConditions }>;

/** A rule with the key of its provider, as in responses. */
export type ShownRuleRow = RuleRow & { identity_provider: string };

/** The columns that an administrator chooses and may change. */
export type RuleChoices = Pick<
  RuleRow,
  'principal_id' | 'claims' | 'audiences' | 'scope_ceiling' | 'single_use' | 'lifetime_seconds_max'
>;

export const workloadRuleOf = wireMapper<ShownRuleRow>()(WorkloadRule, {
  claims: ({ claims }) => claims as WorkloadRule['claims'],
});

/** The fields of a request by column name; absent fields are undefined. */
export function columnsOf(change: WorkloadRuleChange): Partial<RuleChoices> {
  return {
    principal_id: change.principalId,
    claims: change.claims,
    audiences: change.audiences,
    scope_ceiling: change.scopeCeiling,
    single_use: change.singleUse,
    lifetime_seconds_max: change.lifetimeSecondsMax,
  };
}

export const providerParams = { ...tenantParam, key: z.string().max(120) };
export const ruleParams = { ...providerParams, ruleKey: z.string().max(120) };
