import { sharedIssuer } from '../../directory/external-identities/shared-issuers.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { ProviderRow } from './identity-provider.ts';
import { findProvidersElsewhere, lockIssuer } from './identity-providers.sql.ts';

/**
 * An identity (issuer and subject) is unique across all tenants. Somebody who chooses the subjects of an issuer could
 * therefore lock out the people of other tenants. No tenant owns an issuer, because otherwise the first one to
 * register it could prevent its rightful owner from using it; but the tokens for an audience belong to one tenant.
 */

type Choices = Pick<
  ProviderRow,
  'tenant_id' | 'issuer' | 'audience' | 'principal_kind' | 'key_set' | 'jwks_uri' | 'subject_claim'
>;

/** Whether one of the columns is new or changes. */
type Concerns = (columns: readonly (keyof Choices)[]) => boolean;

/** What determines whose tokens a provider accepts as whose. */
const keyColumns = ['issuer', 'principal_kind', 'key_set', 'jwks_uri'] as const;
const issuerColumns = ['issuer', 'audience', 'principal_kind', 'subject_claim'] as const;

/**
 * Refuses a provider that only the operator may register (see docs/reference/administration-tokens.md#use). `changed` is
 * absent for a new provider.
 * @throws Refusal `outside_administration` for a caller with an administration token
 */
export async function refuseBeyondAdministration(
  { db, caller }: Context,
  next: Choices,
  changed?: Partial<Choices>,
): Promise<void> {
  if (!caller.isAdministrator) return;
  const concerns: Concerns = (columns) =>
    changed === undefined || columns.some((column) => column in changed);
  if (next.principal_kind !== 'none' && concerns(keyColumns)) refuseOtherKeys(next);
  if (!concerns(issuerColumns)) return;
  await db.run(lockIssuer(next.issuer));
  const elsewhere = await db.row(findProvidersElsewhere(next.tenant_id, next.issuer, next.audience));
  const isShared = elsewhere?.has_issuer === true || sharedIssuer(next.issuer) !== undefined;
  if (isShared) refuseSubjects(next, concerns, changed);
  // Tokens for this audience that name no tenant would be those of both tenants.
  if (elsewhere?.has_audience === true) refuse('audience');
}

function refuseSubjects(next: Choices, concerns: Concerns, changed?: Partial<Choices>): void {
  // A new provider brings no identities; one that moves there would bring subjects that the issuer did not choose.
  if (changed !== undefined && 'issuer' in changed) refuse('issuer');
  // At many issuers people choose the values of claims other than the subject.
  const signsIn = next.principal_kind !== 'none' && concerns(['principal_kind', 'subject_claim']);
  if (signsIn && next.subject_claim !== 'sub') refuse('subjectClaim');
}

/** Anyone who chooses the keys can make a token for any subject. */
function refuseOtherKeys({ key_set, jwks_uri }: Choices): void {
  if (key_set !== null) refuse('keySet');
  if (jwks_uri !== '') refuse('jwksUri');
}

function refuse(field: string): never {
  return fail('outside_administration', { field }, { reason: `only the operator chooses this: ${field}` });
}
