export interface Caller {
  /** The caller's name in the audit log. */
  readonly actor: string;
  /** The caller has an administration token: an administrator of one tenant, not the operator. */
  readonly isAdministrator?: true;
}
