import { Dialog } from '@base-ui/react/dialog';
import { type Action, keysInWords, pageKeys } from './actions.ts';
import styles from './shell.module.css';

/** The keys of the console: those of the actions, and those that pages listen for. */
export default function KeyHelp({ actions, onClose }: { actions: readonly Action[]; onClose: () => void }) {
  const keys = [
    ...actions.flatMap(({ keys: own, name }): [string, string][] =>
      own === undefined ? [] : [[keysInWords(own), name]],
    ),
    ...pageKeys,
  ];
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.overlay} />
        <Dialog.Popup className={styles.dialog}>
          <div className={styles.title}>
            <Dialog.Title>Keys</Dialog.Title>
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
