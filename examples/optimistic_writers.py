"""Two writers with an ETag: both read, both write what they made of it, and the second one learns that it was late."""

import os
import sys

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.storage.blob import BlobServiceClient

CONNECTION = (sys.argv[1:] or [os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")])[0]


def read(blob):
    """The content, and the ETag of exactly this content."""
    download = blob.download_blob()
    return int(download.readall()), download.properties.etag


def write(blob, number, etag):
    """Writes only if nobody wrote since."""
    blob.upload_blob(str(number), overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)


def main():
    container = BlobServiceClient.from_connection_string(CONNECTION).get_container_client("example-optimistic")
    if not container.exists():
        container.create_container()
    blob = container.get_blob_client("counter")
    blob.upload_blob("1", overwrite=True)

    first, first_etag = read(blob)
    second, second_etag = read(blob)

    write(blob, first + 10, first_etag)
    print("the first writer wrote", first + 10)
    try:
        write(blob, second + 100, second_etag)
        raise SystemExit("the second writer overwrote what it had not seen")
    except ResourceModifiedError as refused:
        print("the second writer was refused:", refused.status_code, refused.response.headers["x-ms-error-code"])

    # What was refused is done again on what is there now.
    second, second_etag = read(blob)
    write(blob, second + 100, second_etag)
    print("the second writer wrote", second + 100)
    assert read(blob)[0] == 111
    container.delete_container()


if __name__ == "__main__":
    main()
