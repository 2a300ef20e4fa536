import type { Approval } from '@baton/sdk';
import { Who } from '../parts/Who.tsx';

type Addressed = Pick<Approval, 'assignedPrincipalId'>;

/** The principal, or the role, that decides an approval. */
export function Decider({ approval: { assignedPrincipalId } }: { readonly approval: Addressed }) {
  return assignedPrincipalId === null ? <>a holder of the required role</> : <Who id={assignedPrincipalId} />;
}
