import { createHash, randomBytes } from 'node:crypto';
import { type OutboundClient, OutboundError } from '@baton/kernel/outbound/outbound';
import type { StoredProvider } from '../identity-providers/identity-provider.ts';
import { type KeySet, parseKeySet } from '../identity-providers/key-set.ts';
import type { StepName, TestStep } from './provider-test.ts';

type Outbound = Pick<OutboundClient, 'readJson' | 'send'>;

/** The addresses in a discovery document that a sign-in needs. */
interface Endpoints {
  readonly jwks: string;
  readonly authorization: string;
}

export const passed = (step: StepName, detail: string): TestStep => ({
  step,
  status: 'passed',
  code: null,
  detail,
});
export const failed = (step: StepName, code: string, detail: string): TestStep => ({
  step,
  status: 'failed',
  code,
  detail,
});
export const skipped = (step: StepName, detail: string): TestStep => ({
  step,
  status: 'skipped',
  code: null,
  detail,
});

/** Advice for each kind of failure of a request. */
const failures: Readonly<Record<string, string>> = {
  bad_address: 'The address is not valid.',
  not_https: 'The address must begin with https, or its host be in IAM_OUTBOUND_ALLOWED_HOSTS.',
  not_public: 'The host has a private address; the operator allows it in IAM_OUTBOUND_ALLOWED_HOSTS.',
  name_not_found: 'The name of the host does not exist.',
  unreachable: 'The host does not respond.',
  too_late: 'The response took too long.',
  bad_status: 'The response is not 200: check the address.',
  bad_encoding: 'The response has an encoding that is not accepted.',
  too_large: 'The response is longer than 256 KiB.',
  not_json: 'The response is not JSON: check the address.',
};

function failureOf(step: StepName, error: unknown): TestStep {
  const code = error instanceof OutboundError ? error.failure : 'not_usable';
  return failed(step, code, failures[code] ?? 'The document cannot be used.');
}

/** Reads the discovery document. @returns its addresses, if the document is that of the issuer */
export async function discover(
  outbound: Outbound,
  { issuer, registered_issuer: registered }: StoredProvider,
  deadline: AbortSignal,
): Promise<{ step: TestStep; endpoints: Endpoints | undefined }> {
  const none = (step: TestStep) => ({ step, endpoints: undefined });
  let document: Record<string, unknown>;
  try {
    const address = `${issuer}/.well-known/openid-configuration`;
    document = ((await outbound.readJson(address, deadline)) ?? {}) as Record<string, unknown>;
  } catch (error) {
    return none(failureOf('discovery', error));
  }
  const { issuer: named, jwks_uri: jwks, authorization_endpoint: authorization } = document;
  if (named !== issuer && named !== registered) {
    const shown = typeof named === 'string' ? named.slice(0, 500) : 'none';
    return none(failed('discovery', 'issuer_differs', `The document is of another issuer: ${shown}`));
  }
  if (typeof jwks !== 'string' || typeof authorization !== 'string')
    return none(
      failed('discovery', 'incomplete', 'The document lacks `jwks_uri` or `authorization_endpoint`.'),
    );
  return {
    step: passed('discovery', 'The provider describes itself with this issuer.'),
    endpoints: { jwks, authorization },
  };
}

/** Reads the keys: the uploaded ones, those at the registered address, or the discovered ones. */
export async function readKeys(
  outbound: Outbound,
  { key_set: uploaded, jwks_uri: registered }: StoredProvider,
  endpoints: Endpoints | undefined,
  deadline: AbortSignal,
): Promise<{ step: TestStep; keys: KeySet | undefined }> {
  const address = registered === '' ? endpoints?.jwks : registered;
  if (uploaded === null && address === undefined)
    return { step: skipped('keys', 'Needs the discovery document.'), keys: undefined };
  try {
    const keys = parseKeySet(uploaded ?? (await outbound.readJson(address as string, deadline)));
    const count = keys.size + keys.unnamed.length;
    return count === 0
      ? {
          step: failed('keys', 'no_keys', 'The document has no key that verifies a signature.'),
          keys: undefined,
        }
      : { step: passed('keys', `${count} ${count === 1 ? 'key' : 'keys'} can verify its tokens.`), keys };
  } catch (error) {
    return { step: failureOf('keys', error), keys: undefined };
  }
}

/**
 * Sends the request with which a sign-in begins, for somebody who isn't signed in there (`prompt=none`). A provider
 * that knows client and redirect address redirects to that address with an error; others show a page.
 */
export async function requestRedirect(
  outbound: Outbound,
  { clientId, redirectUri }: { clientId: string; redirectUri: string | undefined },
  endpoints: Endpoints | undefined,
  deadline: AbortSignal,
): Promise<TestStep> {
  if (redirectUri === undefined) return skipped('redirect', 'No redirect address was given.');
  if (endpoints === undefined) return skipped('redirect', 'Needs the discovery document.');
  if (!URL.canParse(endpoints.authorization))
    return failed('redirect', 'bad_address', 'The authorization endpoint is not an address.');
  const url = new URL(endpoints.authorization);
  const random = () => randomBytes(32).toString('base64url');
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    prompt: 'none',
    state: random(),
    nonce: random(),
    code_challenge: createHash('sha256').update(random()).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  try {
    const request = { method: 'GET', headers: { accept: 'text/html' }, ignoresBody: true } as const;
    const { status, location = '' } = await outbound.send(url.href, request, deadline);
    return redirectStep(status, location, redirectUri);
  } catch (error) {
    return failureOf('redirect', error);
  }
}

/** What `prompt=none` returns for somebody who isn't signed in, or hasn't consented (OpenID Connect Core, 3.1.2.6). */
const expectedErrors = [
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
];

function redirectStep(status: number, location: string, redirectUri: string): TestStep {
  if (status >= 400)
    return failed(
      'redirect',
      'rejected',
      `The provider responds with ${status}: register this redirect address for this client there.`,
    );
  if (status < 300 || !location.startsWith(redirectUri))
    return passed('redirect', 'The provider shows a page; only a sign-in proves that it accepts the client.');
  const error = URL.canParse(location) ? new URL(location).searchParams.get('error') : null;
  return error === null || expectedErrors.includes(error)
    ? passed('redirect', 'The provider accepts client and redirect address.')
    : failed('redirect', 'rejected', `The provider redirects with the error ${error.slice(0, 100)}.`);
}
