import { BatonError } from '@baton/sdk';

/** Whether a refusal means that the sign-in of the person is older than five minutes, or was none. */
export function isSignInTooOld(error: unknown): boolean {
  return error instanceof BatonError && error.code === 'fresh_sign_in_required';
}

/**
 * Runs an act that may need a newer sign-in. Here it fails then, and the page offers the sign-in page; a dialog for the
 * passkey goes here.
 */
export function withFreshSignIn<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  return act();
}

/** Opens the sign-in page, which leads back. */
export function signInAgain(): void {
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
}
