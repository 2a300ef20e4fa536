import { useSyncExternalStore } from 'react';
import { BatonError } from '@baton/sdk';
import { discardAccessToken } from '../client.ts';

/** The open prompt, and how it ends. */
export interface Question {
  done(isConfirmed: boolean): void;
}

let question: Question | undefined;
const listeners = new Set<() => void>();

function set(next: Question | undefined): void {
  question = next;
  for (const listener of listeners) listener();
}

/** Whether an error means that the sign-in is older than five minutes. */
export function isSignInTooOld(error: unknown): boolean {
  return (
    error instanceof BatonError &&
    /^(authentication_context_(expired|required)|sign_in_too_old|fresh_sign_in_required)$/.test(error.code)
  );
}

/**
 * Runs an action. If it is rejected because the sign-in is too old, the dialog requires a passkey, and the action runs
 * once more.
 * @throws the error of the action, even if the person cancels
 */
export async function withFreshSignIn<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  try {
    return await act();
  } catch (error) {
    if (!isSignInTooOld(error) || !(await ask())) throw error;
    // The next access token contains the time of the new sign-in.
    await discardAccessToken();
    return act();
  }
}

function ask(): Promise<boolean> {
  question?.done(false);
  return new Promise((resolve) => {
    set({
      done(isConfirmed) {
        set(undefined);
        resolve(isConfirmed);
      },
    });
  });
}

export function useQuestion(): Question | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => question,
  );
}
