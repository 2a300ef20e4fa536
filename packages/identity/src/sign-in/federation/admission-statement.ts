import { randomUUID } from 'node:crypto';
import { observer } from '@baton/kernel/process/observer';
import type { SigningAlgorithm } from '../../directory/audiences/audience.ts';
import type { Context } from '../context.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import { nameOf, type UpstreamIdentity } from '../upstream-token/upstream-token.ts';

const lifetimeSeconds = 60;
/** No consumer of access tokens accepts this type, and coordination accepts no other as a statement. */
const statementType = 'admission+jwt';

interface AdmittedPerson {
  readonly tenantId: string;
  readonly principalId: string;
  readonly audience: string;
  readonly algorithm: SigningAlgorithm;
  readonly nowSeconds: number;
  readonly provider: OpenProvider;
  readonly identity: UpstreamIdentity;
  readonly role: string;
}

/**
 * Signs the statement that a provider admits a person with a role. The statement is bound to tenant, principal and
 * audience, and grants nothing by itself: coordination compares it with the rule of its own administrator.
 */
export function signAdmission({ settings, signingKeys }: Context, person: AdmittedPerson): Promise<string> {
  const { nowSeconds, provider, identity } = person;
  const claims = {
    iss: settings.issuer,
    sub: person.principalId,
    tenant_id: person.tenantId,
    aud: person.audience,
    identity_provider: provider.key,
    access_role: person.role,
    name: nameOf(provider, identity),
    ...(identity.isEmailVerified && { email: identity.email }),
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: nowSeconds + lifetimeSeconds,
    jti: randomUUID(),
  };
  return signingKeys.sign(person.algorithm, claims, statementType).then((statement) => {
    observer()?.made('admission statement', statement);
    return statement;
  });
}
