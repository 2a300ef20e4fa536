import { conflict, forbidden, invalid, notFound } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../memory/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_tool_query: invalid(
    'The tool query has more than 200 characters or 8 words.',
    'Search for fewer words.',
  ),
  invalid_tool_schema: invalid(
    'The input schema of the tool is larger than 32 KiB.',
    'Have the owner of the skill or process simplify the schema.',
  ),
  package_not_installed: notFound(
    'The tenant has no package with this key.',
    'Check the key with `GET /package-settings`, or install the package with `POST /packages:apply`.',
  ),
  settings_not_declared: notFound(
    'The package declares no settings.',
    'Leave the call out, or install a version that declares settings.',
  ),
  settings_invalid: invalid(
    'The settings do not match the schema of the package.',
    'Correct each entry of `details.errors`; `GET /packages/{key}/settings` returns the schema.',
  ),
  unknown_ref: invalid(
    'A setting refers to an object that does not exist in the tenant.',
    'Create the object of `details.kind` first, or correct the value at `details.path`.',
  ),
  tool_not_found: notFound(
    'The tool does not exist, or the caller may not use it.',
    'Search with `GET /tools`, which lists only the tools that you may use.',
  ),
  agent_retired: conflict(
    'The agent is retired, and its key cannot be used again.',
    'Publish the agent under a new key.',
  ),
  agent_identity_not_linked: conflict(
    'The agent is not linked to an identity yet.',
    'Link it with `PUT /agents/{key}/identity`; `:replace` only exchanges an existing link.',
  ),
  invalid_secret_name: invalid(
    'The name of the secret does not consist of 1 to 63 lower-case letters, digits and hyphens, or begins with a hyphen.',
    'Rename the secret.',
    {
      refused: 'PUT /agents/{key}/secrets/GITHUB_TOKEN {"value":"…"}',
      right: 'PUT /agents/{key}/secrets/github-token {"value":"…"}',
    },
  ),
  agent_secret_exists: conflict(
    'The agent already has a secret with this name.',
    'Delete the old secret first, or store the new one under another name and publish the agent with it.',
  ),
  stale_status_report: conflict(
    'A later observation has already been reported.',
    'Discard this report. If it is the newest, check the clock of the reporter.',
  ),
  unknown_reference: invalid(
    'The spec refers to an object that does not exist.',
    'Create `details.value` first, or correct it at `details.path`.',
  ),
  skills_invoke_not_permitted: invalid(
    'The spec lists skills but lacks the permission skills.invoke.',
    'Add `skills.invoke` to `identity.permissions`, or remove `skills.invoke` from the spec.',
  ),
  execution_skill_not_invoked: invalid(
    'A task type of the agent is executed by a skill that is not in the spec.',
    'Add `details.skill` to `skills.invoke` of the agent, or remove the task type.',
  ),
  invalid_connection_type: invalid(
    'The connection type is malformed.',
    'Correct `details.field`; `details.message` describes the problem.',
  ),
  connection_type_version_exists: conflict(
    'The tenant has this version of the connection type with different content.',
    'Publish the change under the next version.',
  ),
  auth_not_supported: invalid(
    'The connection type does not support this authentication method.',
    'Use `:authorize` for a type with OAuth, and `PUT …/token` for one with tokens. `GET /connection-types/{key}` returns the supported methods in `auth`.',
  ),
  oauth_app_write_conflict: conflict(
    'Another request set the OAuth application at the same time.',
    'Read the application, and set it again if it is not the intended one.',
  ),
  unknown_connection_type: invalid(
    'The version of the connection type does not exist in the tenant, or is disabled.',
    'Choose one of `GET /connection-types`, as `key` or `key@version`.',
  ),
  invalid_connection_settings: invalid(
    'The settings do not match the schema of the connection type.',
    'Correct each entry of `details.errors`; the schema is `settingsSchema` of the type.',
  ),
  connection_key_taken: conflict(
    'The tenant already has a connection with this key.',
    'Choose another key, or change the existing connection with `PATCH /connections/{key}`.',
  ),
  oauth_not_configured: conflict(
    'The OAuth redirect address is not set, or is not an https address.',
    'Have the operator set `CP_OAUTH_REDIRECT_URI` to an https address; `details` names the settings.',
  ),
  oauth_app_not_configured: conflict(
    'The connection type has no OAuth application yet.',
    'Register an application with the provider, and store it with `PUT /connection-types/{key}/oauth-app`.',
  ),
  connection_not_assigned: forbidden(
    'No connection with this key is assigned to the caller.',
    'Add the key to `connections` of the agent and publish it.',
  ),
  status_reason_required: invalid(
    'An expired connection needs a reason.',
    'Send `reason` with the status `expired`.',
    {
      refused: 'PUT /connections/{key}/status {"status":"expired","checkedAt":"2026-12-01T09:00:00Z"}',
      right:
        'PUT /connections/{key}/status {"status":"expired","reason":"token_rejected","checkedAt":"2026-12-01T09:00:00Z"}',
    },
  ),
  connection_status_conflict: conflict(
    'A report cannot change the current status of the connection.',
    'Authorize the connection again: only an active one accepts reports. `details.status` is its status.',
  ),
  invalid_account: invalid(
    'The account does not match the pattern of the connection type.',
    'Send the account in the provider’s notation; `GET /connection-types/{key}` returns the pattern.',
  ),
  invalid_expiry: invalid(
    'The credential has already expired.',
    'Get a new token from the provider, and send an `expiresAt` in the future.',
  ),
  secret_address_changed: conflict(
    'The client secret was entered for a different address (`enteredFor`) than the one it would be sent to (`address`).',
    'Check that `details.address` belongs to the provider, then enter the secret again with `PUT /connection-types/{key}/oauth-app`.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
