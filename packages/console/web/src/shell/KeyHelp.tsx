import { Dialog } from '@base-ui/react/dialog';
import { type Action, formatKeys, pageKeys } from './actions.ts';
import styles from './shell.module.css';

/** The keyboard shortcuts of actions and pages. */
export default function KeyHelp({ actions, onClose }: { actions: readonly Action[]; onClose: () => void }) {
  const keys = [
    ...actions.flatMap(({ keys: own, name }): [string, string][] =>
      own === undefined ? [] : [[formatKeys(own), name]],
    ),
    ...pageKeys,
  ];
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={styles.dialog}>
          <div className={styles.title}>
            <Dialog.Title>Keyboard shortcuts</Dialog.Title>
            <Dialog.Close>Close</Dialog.Close>
          </div>
          <dl className={styles.keys}>
            {keys.map(([key, does]) => (
              <div key={`${key} ${does}`} style={{ display: 'contents' }}>
                <dt>{key}</dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
