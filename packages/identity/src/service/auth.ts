/**
 * The authentication of a caller: `presented` by a credential in the body, `provisioning` by the bearer token of a SCIM
 * client, `none` for no authentication. Absent means by the admin header.
 */
export type Auth = 'presented' | 'provisioning' | 'none';
