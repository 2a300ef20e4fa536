import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../memory/errors.ts';
import { conflict, fixRequest, invalid, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_tool_query: invalid(
    'The query of the tools is longer than 200 characters, or has more than 8 words.',
  ),
  invalid_tool_schema: invalid('The schema of the inputs of the tool is longer than 32 KiB.'),
  package_not_installed: row(404, fixRequest)('The tenant has no such package.'),
  settings_not_declared: row(404, fixRequest)('The package has no settings.'),
  settings_invalid: invalid('The settings do not fit the schema of the package.'),
  unknown_ref: invalid('A setting names an object that the tenant does not have.'),
  tool_not_found: row(404, fixRequest)('There is no such tool, or the caller may not use it.'),
  agent_retired: conflict('The agent was retired; its key is never given again.'),
  agent_identity_not_linked: conflict('No identity is linked to the agent yet.'),
  invalid_secret_name: invalid(
    'The name of a secret is lower-case letters, digits and hyphens, begins with a letter or digit, and has 63 at most.',
  ),
  agent_secret_exists: conflict('The agent has a secret of this name.'),
  stale_status_report: conflict('A later observation has been reported.'),
  unknown_reference: invalid('What is named does not exist; the details say where it is named.'),
  skills_invoke_not_permitted: invalid('The agent names skills and lacks the permission skills.invoke.'),
  execution_skill_not_invoked: invalid(
    'A task type of the agent is executed by a skill that the agent does not name.',
  ),
  invalid_connection_type: invalid('The connection type is malformed; `field` says where.'),
  connection_type_version_exists: conflict('The tenant has this version of the type, with another content.'),
  auth_not_supported: invalid('The connection type does not connect in this way.'),
  oauth_app_write_conflict: conflict('Somebody else set the application at the same time.'),
  unknown_connection_type: invalid('The tenant has no such version of the type, or it is disabled.'),
  invalid_connection_settings: invalid("The settings don't fit the type's schema."),
  connection_key_taken: conflict('The tenant has a connection with this key.'),
  oauth_not_configured: conflict('The address that providers call back is not set, or is not https.'),
  oauth_app_not_configured: conflict('The type has no application with its provider yet.'),
  connection_not_assigned: row(403, fixRequest)('No connection of this key is given to the caller.'),
  status_reason_required: invalid('A connection expires for a reason.'),
  connection_status_conflict: conflict('The connection is in a state that a report does not change.'),
  invalid_account: invalid("The account does not have the form that the type's providers give."),
  invalid_expiry: invalid('The credential is over already.'),
  secret_address_changed: conflict(
    'The client secret was entered for another address (`enteredFor`) than the one it would be sent to (`address`). Enter it again for the new address.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
