import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { characters, sortedSet } from '../../service/fields.ts';

const listMax = 50;

const domainForm = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/;

/**
 * A domain in the form that is compared: ASCII and lower case. Empty for anything else: `domainToASCII` reads its
 * argument as the beginning of an address, so that it returns `example.com` for `example.com#.attacker.example`.
 */
function asciiDomain(text: string): string {
  const domain = /[/?#\\:%@[\]\s]/.test(text) ? '' : domainToASCII(text);
  return domainForm.test(domain) ? domain : '';
}

/** A domain of e-mail addresses. */
const Domain = characters(1, 253)
  .transform((text) => asciiDomain(text))
  .refine((domain) => domain !== '', 'must be a domain such as example.com')
  .meta({ minLength: 1, maxLength: 253 });

const Domains = z
  .array(Domain)
  .max(listMax)
  .transform(sortedSet)
  .describe('Domains of e-mail addresses, without their subdomains. Only a verified address counts.');

const Groups = z
  .array(characters(1, 200))
  .max(listMax)
  .transform(sortedSet)
  .describe('Names in the group claim, as the provider writes them; one of them is enough.');

/** The people whom a provider admits automatically. A stored value has both lists. */
export const Admit = z
  .strictObject({
    domains: Domains.default([]),
    groups: Groups.default([]),
    role: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/)
      .refine((role) => role !== 'administrator', 'must be a role without `admin`')
      .describe('The key of an access role of coordination; never one with `admin`.'),
  })
  .refine(({ domains, groups }) => domains.length + groups.length > 0, {
    path: ['domains'],
    message: 'at least one of domains and groups is required',
  })
  .meta({ id: 'ProviderAdmissionInput' });

/** The admission as it is stored and returned. */
export const ProviderAdmission = z
  .strictObject({ domains: z.array(z.string()), groups: z.array(z.string()), role: z.string() })
  .meta({ id: 'ProviderAdmission' });
export type StoredAdmit = z.output<typeof Admit>;

/** The claims of a verified token that admission depends on. */
export interface AdmissionClaims {
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  readonly groups: readonly string[] | undefined;
}

/** Whether the person of a token is admitted: each list that isn't empty must match. */
export function admits(admit: StoredAdmit | null, { email, isEmailVerified, groups }: AdmissionClaims) {
  if (admit === null || admit.domains.length + admit.groups.length === 0) return false;
  const domain = isEmailVerified && email !== undefined ? asciiDomain(email.split('@')[1] ?? '') : '';
  const isOfDomain = admit.domains.length === 0 || (domain !== '' && admit.domains.includes(domain));
  const isOfGroup = admit.groups.length === 0 || admit.groups.some((name) => groups?.includes(name));
  return isOfDomain && isOfGroup;
}
