/**
 * How the caller is authenticated: `presented` by a credential in the body, `provisioning` by the bearer token of a
 * SCIM client, `delegation` by the credential of coordination, `none` without authentication. If absent, by the admin
 * header, or by the administration token of a person where `administration-scope.ts` opens the endpoint to it.
 */
export type Auth = 'presented' | 'provisioning' | 'delegation' | 'none';
