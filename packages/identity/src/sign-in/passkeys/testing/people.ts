import type { Answer, TestIdentity } from '../../../testing/identity.ts';
import { made, makePrincipal } from '../../../testing/objects.ts';
import { type Deviations, VirtualAuthenticator } from './authenticator.ts';

/** People with passkeys, made through the endpoints. */

export const ask = (identity: TestIdentity, path: string, body?: object): Promise<Answer> =>
  identity.request('POST', `/api/v1${path}`, body === undefined ? {} : { body });

/** Makes a link for a person of the tenant, or invites a new one. */
export async function invite(identity: TestIdentity, tenantId: string, body: object = {}) {
  const wanted = 'principalId' in body ? body : { displayName: 'Maria Lopez', ...body };
  const { token, invitation } = await made(identity.post(`/tenants/${tenantId}/invitations`, wanted));
  return { token: token as string, invitation };
}

/** Accepts a link with a new passkey. */
export async function acceptByPasskey(
  identity: TestIdentity,
  token: string,
  authenticator = new VirtualAuthenticator(),
  deviations: Deviations = {},
): Promise<Answer> {
  const { publicKey, state } = await made(ask(identity, '/invitations:registration-options', { token }));
  const credential = authenticator.create(publicKey, deviations);
  return ask(identity, '/invitations:accept', { token, passkey: { state, credential, name: 'Laptop' } });
}

export interface Person {
  readonly tenantId: string;
  readonly principalId: string;
  readonly authenticator: VirtualAuthenticator;
  /** The secret of the session that began when the person accepted. */
  readonly token: string;
  // biome-ignore lint/suspicious/noExplicitAny: the form of a response is what the tests are about
  readonly session: any;
}

/** A person who has accepted an invitation with a passkey. */
export async function makePerson(
  identity: TestIdentity,
  tenantId: string,
  authenticator = new VirtualAuthenticator(),
): Promise<Person> {
  const link = await invite(identity, tenantId);
  const { token, session } = await made(acceptByPasskey(identity, link.token, authenticator));
  return { tenantId, principalId: session.principalId, authenticator, token, session };
}

/** A person of the tenant who is not signed in and has no passkey. */
export const makeHuman = (identity: TestIdentity, tenantId: string) =>
  makePrincipal(identity, tenantId, 'human');

/** Signs in with a passkey, with fresh options. */
export async function signInWith(
  identity: TestIdentity,
  authenticator: VirtualAuthenticator,
  deviations: Deviations = {},
): Promise<Answer> {
  const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
  const credential = authenticator.get(publicKey, deviations);
  return ask(identity, '/passkeys:sign-in', { state, credential });
}

/** Adds another passkey for the person whose session is presented. */
export async function addPasskey(
  identity: TestIdentity,
  token: string,
  authenticator = new VirtualAuthenticator(),
  deviations: Deviations = {},
): Promise<Answer> {
  const { publicKey, state } = await made(ask(identity, '/passkeys:registration-options', { token }));
  const credential = authenticator.create(publicKey, deviations);
  return ask(identity, '/passkeys:register', { token, state, credential, name: 'Another' });
}

/** The ids of a person's passkeys, oldest first. */
export async function passkeyIds(
  identity: TestIdentity,
  { tenantId, principalId }: Person,
): Promise<string[]> {
  const path = `/tenants/${tenantId}/principals/${principalId}/passkeys`;
  return (await made(identity.get(path))).items.map(({ id }: { id: string }) => id);
}
