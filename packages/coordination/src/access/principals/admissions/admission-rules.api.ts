import { z } from 'zod';
import { reply } from '@baton/kernel/http/service';
import { pageOf } from '@baton/values/wire';
import { endpoint } from '../../context.ts';
import { AdmissionRule, AdmissionRuleRequest } from './admission-rule.ts';
import { listAdmissionRules, removeAdmissionRule, setAdmissionRule } from './admission-rules.ts';
import { admissionRuleRemoved, admissionRuleSet } from './admissions.events.ts';

const params = {
  identityProvider: z.string().max(120).meta({ description: 'The key of the provider in identity.' }),
};

export const admissionRulesApi = [
  endpoint({
    id: 'listAdmissionRules',
    method: 'GET',
    path: '/admission-rules',
    summary: 'List the identity providers that may admit people automatically, with their roles.',
    permission: 'principals.read',
    returns: { 200: pageOf(AdmissionRule) },
    handle: async (_input, context) => ({ items: await listAdmissionRules(context), nextCursor: null }),
  }),
  endpoint({
    id: 'setAdmissionRule',
    method: 'PUT',
    path: '/admission-rules/{identityProvider}',
    summary: 'Allow an identity provider to admit unknown people automatically, with an access role.',
    description:
      "The rule is for the provider of the caller's tenant in identity, where `admit` selects the people and names the same role. A tenant has at most 50 rules.",
    permission: 'principals.write',
    params,
    body: AdmissionRuleRequest,
    returns: { 200: AdmissionRule, 201: AdmissionRule },
    errors: [
      'identity_token_required',
      'not_found',
      'permission_escalation',
      'visibility_escalation',
      'admission_role_not_allowed',
      'admission_rule_elsewhere',
      'admission_rule_limit',
    ],
    emits: [admissionRuleSet],
    example: { accessRole: 'member' },
    async handle({ params: { identityProvider }, body }, context) {
      const { rule, isNew } = await setAdmissionRule(context, identityProvider, body.accessRole);
      return reply(isNew ? 201 : 200, rule);
    },
  }),
  endpoint({
    id: 'removeAdmissionRule',
    method: 'DELETE',
    path: '/admission-rules/{identityProvider}',
    summary: 'Stop allowing an identity provider to admit people automatically.',
    description: 'People whom it admitted keep their access. If there is no rule, nothing changes.',
    permission: 'principals.write',
    params,
    returns: { 204: null },
    emits: [admissionRuleRemoved],
    handle: ({ params: { identityProvider } }, context) => removeAdmissionRule(context, identityProvider),
  }),
];
