import { z } from 'zod';
import { characters, Issuer } from '../../service/fields.ts';

const Step = z.enum(['discovery', 'keys', 'redirect', 'token', 'claims']);
export type StepName = z.infer<typeof Step>;

const TestStep = z
  .strictObject({
    step: Step,
    status: z.enum(['passed', 'failed', 'skipped']),
    code: z.string().nullable().describe('Of a failed step: the refusal, or the kind of failure.'),
    detail: z.string(),
  })
  .meta({ id: 'ProviderTestStep' });
export type TestStep = z.infer<typeof TestStep>;

/** What a sign-in with the token would result in. */
const Outcome = z.enum(['signs_in', 'created', 'admitted', 'requested', 'refused']);

export const ProviderTest = z
  .strictObject({
    issuer: z.string(),
    audience: z.string(),
    steps: z.array(TestStep),
    person: z
      .strictObject({
        subject: z.string(),
        displayName: z.string().nullable(),
        email: z.string().nullable(),
        emailVerified: z.boolean(),
        groups: z.array(z.string()).describe('The first 50 of the group claim.'),
      })
      .nullable()
      .describe('The claims of the token; null without a valid one.'),
    outcome: z
      .strictObject({
        result: Outcome,
        code: z.string().nullable().describe('Of a refusal.'),
        role: z.string().nullable().describe('The role with which the provider admits the person.'),
      })
      .nullable()
      .describe('The result of a sign-in with this token; null without a valid one.'),
  })
  .meta({ id: 'ProviderTest' });
export type ProviderTest = z.infer<typeof ProviderTest>;
export type TestOutcome = NonNullable<ProviderTest['outcome']>;

export const ProviderTestRequest = z
  .strictObject({
    issuer: Issuer.optional().describe('Tested instead of the registered one, before it is changed.'),
    audience: characters(1, 200).optional().describe('Tested instead of the registered one.'),
    redirectUri: characters(1, 1000)
      .refine((uri) => /^https?:\/\//.test(uri) && URL.canParse(uri), 'must be an http or https address')
      .optional()
      .describe('The address to which the provider redirects; without it the step is skipped.'),
    token: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe('An ID token of the provider; without it the steps `token` and `claims` are skipped.'),
  })
  .meta({ id: 'ProviderTestRequest' });
export type ProviderTestRequest = z.infer<typeof ProviderTestRequest>;
