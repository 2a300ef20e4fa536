import { BatonError } from '@baton/sdk';

/** The reason why a form can't be submitted, worded for the person. */
export class FormProblem extends Error {
  /** The name of the field that the person must correct. */
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/** A rejected value: its path in the request, such as `admit.domains.0`, and the reason. */
export interface Fault {
  /** Empty if the service names no field. */
  readonly path: string;
  readonly message: string;
}

/** Further faults in a response are ignored. */
const faultsMax = 50;

/**
 * The values that a service rejected. Coordination lists `{loc, message}` for a request or `{path, message}` for a
 * document; identity lists `{loc, msg}`. Instead of a list, both may name a single `field` or several `fields`.
 */
export function faultsIn(error: unknown): readonly Fault[] {
  if (error instanceof FormProblem)
    return error.field === undefined ? [] : [{ path: error.field, message: error.message }];
  const rejection = rejectionIn(error);
  if (rejection === undefined) return [];
  const { errors, problems, field, fields, message: reason } = rejection.details;
  const listed = [errors, problems].find(Array.isArray);
  if (listed !== undefined) return listed.slice(0, faultsMax).map(faultOf);
  const named = Array.isArray(fields) ? fields : [field];
  const message = typeof reason === 'string' ? reason : textOf(rejection);
  return named
    .filter((one) => typeof one === 'string')
    .slice(0, faultsMax)
    .map((one) => ({ path: dotted(one), message }));
}

/** The service's error: the error itself or, for a command of several requests, its cause. */
export function rejectionIn(error: unknown): BatonError | undefined {
  if (error instanceof BatonError) return error;
  return error instanceof Error && error.cause instanceof BatonError ? error.cause : undefined;
}

function faultOf(listed: unknown): Fault {
  const { loc, path, message, msg, code } = (listed ?? {}) as Readonly<Record<string, unknown>>;
  const at = Array.isArray(loc) ? loc.join('.') : (loc ?? path);
  return {
    path: typeof at === 'string' ? dotted(at) : '',
    message: String(message ?? msg ?? code ?? 'is invalid').replaceAll('_', ' '),
  };
}

/** `body.admit.role`, `/admit/role` and `evidence[0]` as `admit.role` and `evidence.0`. */
function dotted(path: string): string {
  const parts = path.startsWith('/')
    ? path.slice(1).split('/')
    : path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  return parts
    .slice(!path.startsWith('/') && parts[0] === 'body' ? 1 : 0)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

/** Texts for error codes of identity whose own message only repeats the code. */
const texts: Readonly<Record<string, string>> = {
  outside_administration:
    'Only the operator of this installation can choose this, with the admin secret, because it could affect people in another tenant.',
  invalid_issuer:
    'The issuer must be an http or https address other than Baton’s own, exactly as in the iss claim of the provider’s tokens.',
  identity_provider_exists: 'The tenant already has an identity provider with this name or this issuer.',
  identity_provider_not_found: 'This identity provider was disabled or removed.',
  population_managed_by_directory:
    'A directory manages the people of this provider. Disable the directory first.',
  linked_people_undecided:
    'People sign in through this provider. Select whether they are the same people at the new issuer.',
  issuer_not_changeable: 'The issuer of a provider for programs can’t change. Register another provider.',
  external_identity_conflict: 'The account at the provider already belongs to another person.',
  sign_in_request_not_found: 'This request no longer exists. The person can sign in again to send a new one.',
  sign_in_request_decided: 'Somebody else has already decided this request.',
  sign_in_request_expired: 'This request has expired. The person can sign in again to send a new one.',
  sign_in_request_outdated:
    'The provider is disabled or now has another issuer. The person can sign in again to send a new request.',
  group_exists: 'The tenant already has a group with this key.',
  group_membership_exists: 'The principal is already a member.',
  provisioning_source_exists: 'The key, the provider or the service account already has a directory.',
  service_account_required: 'Only a service account can write for a directory.',
  token_limit_reached: 'The directory already has two valid tokens. Revoke one of them first.',
  principal_not_found: 'The tenant has no such active person or agent.',
  principal_not_active: 'The person or agent is disabled. Enable them first.',
  principal_kind_not_allowed: 'Only people and agents get tokens. Programs use a service account.',
  unknown_audience: 'Select at least one audience that exists and is active.',
  invalid_scope_ceiling: 'The selected audiences don’t allow all selected scopes.',
  expiry_too_long: 'The operator allows only shorter-lived tokens.',
  authentication_context_required:
    'This person has no recorded sign-in. They must sign in before they get a token.',
  authentication_context_expired:
    'The last sign-in of this person is too old. They must sign in again before they get a token.',
  too_many_invitations: 'The tenant has too many open invitations. Revoke those that are no longer needed.',
};

/** The message of the service; the console's own text if that message only repeats the code. */
export function textOf({ code, message }: BatonError): string {
  const own = Object.hasOwn(texts, code) ? texts[code] : undefined;
  return message === code.replaceAll('_', ' ') ? (own ?? message) : message;
}
