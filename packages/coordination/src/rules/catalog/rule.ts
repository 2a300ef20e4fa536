import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { pageOf, Timestamp, Uuid } from '@baton/values/wire';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import { PackageLink } from '../../organisation/package-link.ts';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { RuleAction } from '../documents/action.ts';
import { AnyJson } from '../documents/any-json.ts';
import { RuleInterpretation } from '../documents/interpretation.ts';
import { RuleIdentity } from '../documents/rule-documents.ts';
import { RuleTrigger } from '../documents/trigger.ts';
import { RuleWarning } from '../documents/warnings.ts';

export const ruleStatuses = ['enabled', 'disabled', 'archived'] as const;

/** A rule that derives work from events (docs/reference/rules.md#states). */
export const Rule = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    workspaceId: Uuid.nullable(),
    goalId: Uuid.nullable(),
    key: z.string(),
    description: z.string(),
    version: z.int().positive(),
    status: z.enum(ruleStatuses),
    trigger: RuleTrigger,
    condition: AnyJson,
    interpretation: RuleInterpretation.nullable(),
    action: RuleAction,
    identity: RuleIdentity.nullable(),
    authorityPrincipalId: Uuid.nullable().meta({
      description:
        'The principal who last enabled or wrote the rule. The rule acts on their behalf, or as the agent of `identity` with their visibility.',
    }),
    enabledAt: Timestamp.nullable(),
    nextRunAt: Timestamp.nullable(),
    createdBy: Uuid,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Rule' });
export type Rule = z.infer<typeof Rule>;

export const RulePage = pageOf(Rule);
/** Versions of a rule, newest first, as they were written. */
export const RuleVersionPage = pageOf(Rule);

/** A stored rule, with warnings about parts that can't work. */
export const WrittenRule = Rule.extend({ warnings: z.array(RuleWarning) }).meta({ id: 'WrittenRule' });
export type WrittenRule = z.infer<typeof WrittenRule>;

/** Documents whose type the body schema doesn't check, so that the 422 can describe the error. */
const document = (form: z.ZodType) =>
  z.unknown().meta(z.toJSONSchema(form, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>);
const trigger = document(RuleTrigger);
const action = document(RuleAction);
/** Above the limit for a condition, because a condition that is too long has its own code. */
const condition = z.unknown().meta({
  'x-maxBytes': documentBytesMax,
  description: 'true, false or an object of one operator; null is true.',
});
const interpretation = document(RuleInterpretation);
const identity = document(RuleIdentity);
const description = z.string().max(2000);

const fields = {
  trigger,
  action,
  condition: condition.optional(),
  interpretation: interpretation.optional(),
};

export const RuleRequest = z
  .strictObject({
    key: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,127}$/),
    ...fields,
    description: description.default(''),
    workspaceId: Uuid.nullish(),
    goalId: Uuid.nullish(),
    status: z.string().max(64).default('enabled'),
    identity: identity.optional(),
  })
  .meta({ id: 'RuleRequest' });
export type RuleRequest = z.output<typeof RuleRequest>;

/** A rule keeps its key and its workspace; separate operations enable and disable it. */
export const RuleChange = z
  .strictObject({
    description: description.nullish(),
    trigger: trigger.optional(),
    condition: condition.optional(),
    interpretation: interpretation.optional(),
    action: action.optional(),
    goalId: Uuid.nullish(),
    identity: identity.optional(),
  })
  .meta({ id: 'RuleChange' });
export type RuleChange = z.output<typeof RuleChange>;

export type RuleRow = RowOf<
  Tables['rules'],
  {
    package: PackageLink | null;
    status: (typeof ruleStatuses)[number];
    trigger: RuleTrigger;
    condition: z.infer<typeof Rule>['condition'];
    interpretation: RuleInterpretation | null;
    action: RuleAction;
    authority: CredentialSnapshot | null;
  }
>;

export const ruleOf = wireMapper<RuleRow>()(Rule, {
  identity: ({ identity_agent: agent }) => (agent === null ? null : { agent }),
});
