import { BatonError } from '@baton/sdk';
import { invocation } from '../../../bin/invocation.mjs';
import { certificateProblem } from './certificate-error.ts';

/** Exit codes of every command, as documented in the reference. */
export const exitCodes = { failed: 1, usage: 2, notSignedIn: 4 } as const;

const connectionHint = () =>
  `Is Baton running there? ${invocation()} start starts it here; ${invocation()} doctor checks in more detail.`;

/** One sentence for an error: its code, the message, the request's id for the operator, and the remedy. */
export function describeError(error: BatonError): string {
  const about = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
  const hint = hintOf(error);
  return `${error.code}: ${error.message}${problemsIn(error)}${missingIn(error)}${wantedBy(error)}${about}${hint === undefined ? '' : `\n${hint}`}`;
}

/** Codes whose status no service defines; the client's own codes have status 0. */
const undocumentedCodes = ['unreadable_answer', 'scim_error', 'misdirected_request'];

/** The description of the code: the address that the service sent, or otherwise the page of this repository. */
export function docsHintFor({ code, status, docs }: BatonError): string | undefined {
  if (docs !== undefined) return `See ${docs}`;
  return status === 0 || undocumentedCodes.includes(code) ? undefined : `See docs/errors.md#${code}`;
}

/** The remedy for the user; undefined if the message states it. */
function hintOf({ code, status, cause }: BatonError): string | undefined {
  if (code === 'network_error' || code === 'deadline_exceeded')
    return certificateProblem(cause) ?? [causeOf(cause), connectionHint()].filter(Boolean).join(' ');
  if (status === 401)
    return `The token is not valid there: ${invocation()} login signs in with another. If Baton was set up again, its new connection file applies from its next start.`;
  if (status === 403) return `${invocation()} whoami shows what you may do.`;
  return undefined;
}

function causeOf(cause: unknown): string | undefined {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(inner instanceof Error)) return undefined;
  const { code } = inner as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' ? 'The connection was refused.' : `${code ?? inner.message}.`;
}

/** The list of errors in a body. */
function problemsIn({ details }: BatonError): string {
  const { errors } = details as { errors?: unknown };
  if (!Array.isArray(errors)) return '';
  const problems = errors as { loc?: string; path?: string; message?: string; code?: string }[];
  const texts = problems.map(({ loc, path, message, code }) =>
    `${loc ?? path ?? ''} ${message ?? code ?? ''}`.trim(),
  );
  return ` (${texts.join('; ')})`;
}

/** The object that was not found: as named by the service, or otherwise the path of the request. */
function missingIn({ status, details }: BatonError): string {
  if (status !== 404) return '';
  const named = Object.entries(details).filter(([, value]) => ['string', 'number'].includes(typeof value));
  if (named.length === 0) return '';
  return ` (${named.map(([name, value]) => (name === 'path' ? String(value) : `${name} ${String(value)}`)).join(', ')})`;
}

/** What a valid request needs: the permission, or one of the allowed values. */
function wantedBy({ code, details }: BatonError): string {
  const { required, known, allowed, availableAt } = details;
  if (code === 'permission_denied' && isList(required)) return ` It requires ${required.join(', ')}.`;
  if (code === 'task_not_due' && typeof availableAt === 'string')
    return ` It is blocked until ${availableAt}.`;
  const values = [known, allowed].find(isList);
  return values === undefined ? '' : ` It can be: ${values.join(', ') || 'nothing'}.`;
}

const isList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** The exit code for an error. */
export function exitCodeFor(error: BatonError): number {
  return error.status === 401 ? exitCodes.notSignedIn : exitCodes.failed;
}
