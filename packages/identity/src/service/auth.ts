/**
 * How a caller enters: `presented` by a credential in the body, `provisioning` by the bearer token of a SCIM client,
 * `none` without any. Absent: the admin header.
 */
export type Auth = 'presented' | 'provisioning' | 'none';
