/** Lets a person create their first passkey, on the authority of the operator of this process. */
export interface FirstPasskeys {
  /** Whether the owner of an access token has a passkey. */
  has(principal: Owner): Promise<boolean>;
  /** Creates a recovery link that lasts for minutes. @returns its secret */
  createLink(principal: Owner): Promise<string>;
}

/** A person in identity. */
export interface Owner {
  readonly tenantId: string;
  readonly principalId: string;
}
