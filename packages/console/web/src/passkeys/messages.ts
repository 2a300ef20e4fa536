/** Messages for error codes of identity, whose own messages only repeat the code. */
export const passkeyMessages: Readonly<Record<string, string>> = {
  invalid_passkey:
    'This passkey was not accepted. It may have been removed, or your account is disabled. Contact an administrator.',
  invalid_invitation: 'This link was used, has expired or was revoked. Request a new one.',
  last_passkey: 'This is your only way to sign in. Add another passkey before you remove this one.',
  passkey_exists: 'This passkey already belongs to an account.',
  passkey_not_found: 'This passkey was already removed.',
  passkey_rejected:
    'The device returned an invalid passkey, or you took longer than five minutes. Try again.',
  too_many_passkeys: 'You have reached the maximum number of passkeys. Remove one before you add another.',
  browser_session_not_found: 'This browser is already signed out.',
  authentication_context_expired: 'This action requires a sign-in within the last five minutes.',
  rate_limited: 'Too many attempts from your IP address. Try again in a few minutes.',
};
