"""What ``spark-submit`` runs in a driver's pod: the command ``oncelog`` with the arguments of the application."""

from oncelog.cli.main import main

if __name__ == "__main__":
    main()
