/**
 * How a caller authenticates: `presented` by a credential in the body, `provisioning` by the bearer token of a SCIM
 * client, `none` not at all. Absent: by the admin header.
 */
export type Auth = 'presented' | 'provisioning' | 'none';
