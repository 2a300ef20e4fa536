/**
 * How the caller is authenticated: `presented` by a credential in the body, `provisioning` by the bearer token of a
 * SCIM client, `none` without authentication. If absent, by the admin header.
 */
export type Auth = 'presented' | 'provisioning' | 'none';
