/** The caller's name in the audit log. */
export interface Caller {
  readonly actor: string;
}
