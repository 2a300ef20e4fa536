import { BatonError, LeaseLostError } from '@baton/sdk';
import { seen } from './others-text.ts';
import { NoApproverError } from './tools/approver.ts';
import { UnansweredFormError } from './tools/process-form.ts';
import { NotHeldError } from './workplace.ts';

const messageCharactersMax = 600;
const detailsMax = 20;
const faultCharactersMax = 200;
/** Error codes for claiming a named task. */
const notTakenCodes: readonly string[] = [
  'task_not_due',
  'task_not_claimable',
  'task_not_ready',
  'task_already_claimed',
  'approval_required',
  'verification_pending',
  'input_missing',
];
/** Names of fields, limits and ids. They are too short to contain a sentence by another author. */
const plainDetail = /^[\w.:/@[\]+-]{1,100}$/;

/** Returns the text of a failure for an agent: its cause, and the next step. @throws defects of this program */
export function refusalText(error: unknown): string {
  if (error instanceof NotHeldError || error instanceof NoApproverError) return error.message;
  if (error instanceof UnansweredFormError) return `${refusalText(error.refusal)}\n${error.form}`;
  if (error instanceof LeaseLostError)
    return `${capital(error.message)}. Stop working on this task now, write nothing more for it, and don't try this call again. work_next gives you other work.`;
  if (error instanceof BatonError) {
    const message = error.message.slice(0, messageCharactersMax).replace(/\.$/, '');
    const about = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
    const parts = [`${error.code}: ${message}${about}.`, detailsText(error), adviceOf(error)];
    return parts.filter((part) => part !== undefined).join(' ');
  }
  if (error instanceof TypeError) return `${capital(error.message.slice(0, messageCharactersMax))}.`;
  throw error;
}

/** Returns the rejected field, its limit, and its allowed values, from the error's details. */
function detailsText({ details }: BatonError): string | undefined {
  const { errors, ...named } = details;
  const faults = (Array.isArray(errors) ? errors : []).slice(0, detailsMax).map(faultText);
  const others = Object.entries(named).map(([name, value]) => {
    const words = [value].flat().slice(0, detailsMax).map(String);
    return words.length > 0 && words.every((word) => plainDetail.test(word))
      ? `${name} ${words.join(', ')}`
      : '';
  });
  const all = [...faults, ...others].filter((text) => text !== '');
  return all.length === 0 ? undefined : `Details: ${all.join('; ')}.`;
}

/** One of several faults in a request: `body.data: expected an object`. */
function faultText(fault: unknown): string {
  const { loc, path, message, code } = (fault ?? {}) as Record<string, unknown>;
  const place = String(loc ?? path ?? '');
  const what = seen(String(message ?? code ?? ''))
    .replace(/\s+/g, ' ')
    .slice(0, faultCharactersMax);
  return plainDetail.test(place) ? `${place}: ${what}` : what;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function adviceOf({ code, status, retryable }: BatonError): string {
  if (status === 401)
    return 'The token has expired or was revoked: a person must give this server a new one.';
  if (status === 403) return 'You lack the permission: request it from a person, and continue without it.';
  if (status === 404) return 'Check the reference; task_search finds tasks.';
  if (retryable) return 'Baton is unavailable: try again in a few seconds.';
  if (code === 'network_error') return 'A person must fix the connection of this server to Baton.';
  if (notTakenCodes.includes(code))
    return 'task_get shows why it can not be taken; work_next without task gives you other work.';
  if (status === 422 || status === 400) return 'Correct the arguments and call again.';
  return 'Read it again before you continue: it may have changed meanwhile.';
}
