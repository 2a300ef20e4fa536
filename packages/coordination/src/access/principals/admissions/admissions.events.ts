import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const provider = { iamTenantId: Uuid, identityProvider: z.string(), accessRole: z.string() };

export const admissionRuleSet = defineEvent('admission_rule.set', 'admission_rule', z.strictObject(provider));

export const admissionRuleRemoved = defineEvent(
  'admission_rule.removed',
  'admission_rule',
  z.strictObject(provider),
);

/** A provider admitted the person under a rule; no administrator did. */
export const principalSelfAdmitted = defineEvent(
  'principal.self_admitted',
  'principal',
  z.strictObject({ principalId: Uuid, ruleId: Uuid, ...provider }),
);
