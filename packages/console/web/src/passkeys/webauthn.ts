import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { BatonError, createClient } from '@baton/sdk';
import { post } from '../client.ts';

/** Identity's calls that need no sign-in. */
export const publicIdentity = createClient({ url: location.origin }).identity;

/** Loaded on use, because the first page may load only 200 kB. */
const loadWebAuthn = () => import('@simplewebauthn/browser');

/** The options of a call, and the `state` to send back. */
interface Options {
  readonly publicKey: Readonly<Record<string, unknown>>;
  readonly state: string;
}

/** Why this page can't use passkeys, and the address of the console where it can, if it is known. */
export interface PasskeyProblem {
  readonly message: string;
  readonly href?: string;
}

/** @returns undefined if this page can use passkeys */
export function passkeyProblem(): PasskeyProblem | undefined {
  const { hostname, port, pathname, search } = location;
  if (/^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    return {
      message: 'Browsers don’t accept passkeys at an IP address. Open the console at localhost to use them.',
      href: `http://localhost${port === '' ? '' : `:${port}`}${pathname}${search}`,
    };
  if (/^\d+\.\d+\.\d+\.\d+$|^\[/.test(hostname))
    return {
      message: 'Browsers don’t accept passkeys at an IP address. Open the console at its https address.',
    };
  if (!globalThis.isSecureContext)
    return { message: 'Passkeys require https. Open the console at its https address.' };
  if (typeof PublicKeyCredential !== 'function')
    return { message: 'This browser does not support passkeys. Use a newer one.' };
  return undefined;
}

/**
 * The address at which a person accepts an invitation or a recovery link. Browsers don't accept passkeys at an IP
 * address, so the link for this machine leads to localhost.
 */
export function invitationUrl(secret: string): string {
  const { origin } = new URL(passkeyProblem()?.href ?? location.href);
  return `${origin}/invite#${secret}`;
}

const problems: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was used: the request was cancelled or timed out.',
  InvalidStateError: 'This device already has a passkey of yours.',
  SecurityError:
    'This address of the console is not the one for which passkeys are set up. Contact your operator.',
  NotSupportedError: 'This device has no suitable authenticator.',
  ConstraintError: 'This device cannot verify you with a PIN, fingerprint or face.',
};

/** Has the form of a service's error, so that pages show it in the same way. */
function deviceError(error: unknown): unknown {
  if (error instanceof BatonError) return error;
  // The library's errors have the browser's as their cause.
  const { cause, name: ownName } = error as Error;
  const name = cause instanceof Error ? cause.name : ownName;
  const message = problems[name] ?? 'The device reported an error. Try again.';
  return new BatonError({ code: 'passkey_not_used' as never, message, status: 0, cause: error });
}

/** Creates a passkey on this device. @returns the body of a request: state and credential */
export async function createPasskey({ publicKey, state }: Options) {
  try {
    const { startRegistration } = await loadWebAuthn();
    const optionsJSON = publicKey as unknown as PublicKeyCredentialCreationOptionsJSON;
    return { state, credential: JSON.stringify(await startRegistration({ optionsJSON })) };
  } catch (error) {
    throw deviceError(error);
  }
}

/** Requests a signature with any passkey that the device has for Baton. */
async function askForPasskey() {
  const { publicKey, state } = await publicIdentity.passkeys.getSignInOptions();
  try {
    const { startAuthentication } = await loadWebAuthn();
    const optionsJSON = publicKey as unknown as PublicKeyCredentialRequestOptionsJSON;
    return { state, credential: JSON.stringify(await startAuthentication({ optionsJSON })) };
  } catch (error) {
    throw deviceError(error);
  }
}

/** Signs this browser in with a passkey. */
export const signInByPasskey = async () => post<object>('passkey-sign-in', await askForPasskey());

/** The signed-in person proves that they are present; the sign-in is then less than five minutes old. */
export const confirmByPasskey = async () =>
  post<object>('passkey-sign-in', { ...(await askForPasskey()), confirm: 'yes' });
