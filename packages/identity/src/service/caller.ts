/** The caller, as the audit log names it. */
export interface Caller {
  readonly actor: string;
}
