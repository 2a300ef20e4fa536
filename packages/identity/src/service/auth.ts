/**
 * The authentication of a caller: `presented` by a credential in the body, `provisioning` by the bearer token of a SCIM
 * client, `delegation` by the credential of coordination, `none` for no authentication. Absent means by the admin header,
 * or by the administration token of a person where `administration-scope.ts` opens the endpoint to it.
 */
export type Auth = 'presented' | 'provisioning' | 'delegation' | 'none';
